/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Connections of a CM peer: which CM exchange set up each connection, which recorded directions
 * belong to the connection, and whether the capture contains the messages in which the target's
 * program announces its R_Keys.
 *
 * cm_peer.c calls these functions:
 *
 *   1. cm_peer_conns_open() chooses the connections that can be played.
 *   2. cm_peer_conns_bind() sets the live QPNs and PSNs of an established connection.
 *   3. cm_peer_conns_learn() reads R_Keys from the data that the target sends.
 *   4. cm_peer_conns_leave_out() skips the connections that were never established.
 *   5. cm_peer_conns_close()
 */
#ifndef REPLAY_LIVE_CM_PEER_CONNS_H
#define REPLAY_LIVE_CM_PEER_CONNS_H

#include "engine/play/rc_requester.h"
#include "live/live_cm.h"
#include "live/request_tracker.h"

#define LIVE_RUN_NONE UINT32_MAX /* the direction is not played */

/* Connection that is played: a CM exchange and the two directions of requests that it set up. */
struct cm_peer_conn {
    /* Indexes of the connection's two directions. We send the requests of `out`, and the target
     * sends the requests of `in`. LIVE_RUN_NONE: the direction is not played. */
    uint32_t out, in;
    struct request_tracker tracker; /* live requests of direction `in` */
    /* Highest relative PSN of the recorded requests of `in` that precede the current packet in the
     * capture. Before our endpoint sends its next request, it waits until the target has sent this
     * PSN. */
    int64_t wanted;
    unsigned misses; /* number of requests that did not arrive in time */
};

struct cm_peer_conns {
    struct live *live;
    struct rc_requester *post;
    struct live_cm *cm;
    struct cm_peer_conn *conn; /* one element for each live_cm.exch */
    uint32_t *exch_of;         /* for each direction: index of its CM exchange, or LIVE_RUN_NONE */
    bool **rkey_known;         /* rkey_known[host][region]: the live R_Key of the region is known */
};

/* Chooses the connections that are played. Sets the skip reason of all other connections. Returns
 * 0, or -1 if out of memory. Call cm_peer_conns_close() in both cases. */
int cm_peer_conns_open(struct cm_peer_conns *conns, struct live *live,
                       struct rc_requester *requester, struct live_cm *cm);
void cm_peer_conns_close(struct cm_peer_conns *conns);

/* Learns the target's live R_Keys (learn_rkeys()) from `live`, the `len` bytes that the target sent
 * on the connection of exchange `exch`. `recorded`: the corresponding bytes of the capture. */
void cm_peer_conns_learn(struct cm_peer_conns *conns, uint32_t exch, const uint8_t *recorded,
                         uint8_t *live, size_t len);

/* Sets the live QPNs and PSNs of the connection's directions. Does nothing before the connection is
 * established. */
void cm_peer_conns_bind(struct cm_peer_conns *conns, uint32_t exch);

/* Sets the skip reason of each connection that was never established. */
void cm_peer_conns_leave_out(struct cm_peer_conns *conns);

#endif
