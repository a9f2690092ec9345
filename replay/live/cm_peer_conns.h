/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live ends: the connections of a capture that can be played with a far program, as one end of
 * them: which exchange of the connection manager set each up, which runs of the drive are its two
 * directions, and whether the capture shows how the keys of the far memory are told.
 */
#ifndef REPLAY_LIVE_CM_PEER_CONNS_H
#define REPLAY_LIVE_CM_PEER_CONNS_H

#include "live/live_cm.h"
#include "live/request_tracker.h"
#include "engine/rc_requester.h"

#define LIVE_RUN_NONE UINT32_MAX

/* One connection: an exchange and the two directions of it. */
struct cm_peer_conn {
    uint32_t out, in; /* runs in which we request, and in which the far end does; or NONE */
    struct request_tracker tracker; /* of `in` */
    int64_t wanted;                 /* the highest PSN that the recorded far end had sent by now */
    unsigned misses;                /* requests that did not come in time */
};

struct cm_peer_conns {
    struct live *live;
    struct rc_requester *post;
    struct live_cm *cm;
    struct cm_peer_conn *conn; /* of cm.exch */
    uint32_t *exch_of;         /* of drive.run; LIVE_RUN_NONE */
    bool **rkey_known;         /* of drive.device, memory.region: its live key is known */
};

/* Chooses what is played; the reason of each other run and exchange is set. 0, or -1 without
 * memory. cm_peer_conns_close() is wanted in both cases. */
int cm_peer_conns_open(struct cm_peer_conns *conns, struct live *live,
                       struct rc_requester *requester, struct live_cm *cm);
void cm_peer_conns_close(struct cm_peer_conns *conns);

/* What the far end told in `len` bytes of one of its packets, see learn_rkeys(). */
void cm_peer_conns_learn(struct cm_peer_conns *conns, uint32_t exch, const uint8_t *recorded,
                         uint8_t *live, size_t len);

/* The connection is up: its runs get their live numbers. Nothing if it is not. */
void cm_peer_conns_bind(struct cm_peer_conns *conns, uint32_t exch);

/* What was never set up has nobody's answers: it gets its reason. */
void cm_peer_conns_leave_out(struct cm_peer_conns *conns);

#endif
