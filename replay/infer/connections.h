/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Connections: the RC and XRC connections of a trace, numbered and paired by rnic/flow exactly as
 * `rocedrill check` does, and divided at each QP reuse.
 *
 *   1. connections_find() feeds every packet to roce_flow_feed(), which returns the connection of
 *      the packet and the side that sent it. A use of a QP pair is the time between two QP reuses.
 *      roce_flow_feed() also reports the uses that CM messages set up, and qp_uses.h finds all
 *      others. Each side that sent requests in one use becomes one recorded direction: its
 *      requests, and the responses of the other side.
 *   2. connections_free()
 *
 * A connection in which both ends send requests has two directions. Packets of no direction are
 * counted in `skip` with a reason and listed in `unassigned`.
 */
#ifndef REPLAY_INFER_CONNECTIONS_H
#define REPLAY_INFER_CONNECTIONS_H

#include "base/error.h"
#include "infer/trace.h"

/* Attributes of the requester's QP from the captured REQ and REP of the connection manager. */
struct recorded_cm {
    bool present;
    uint32_t psn;       /* PSN of the first request */
    uint32_t mtu;       /* path MTU in bytes, 0 if the REQ has a reserved code */
    uint32_t resources; /* responder resources granted: limit of READs and atomics in flight */
    bool timed;         /* timeout, retry_cnt and rnr_retry are known, because REQ and REP were
                         * captured completely */
    uint8_t timeout, retry_cnt, rnr_retry; /* attributes of the requester's QP, in the codes of
                                            * ibv_modify_qp() */
};

struct recorded_direction {
    uint32_t conn_index;    /* number of the connection, as `rocedrill check` prints the number */
    uint8_t side;           /* number of the connection's side that is the requester: 0 or 1 */
    uint32_t req_flow;      /* index into trace.flow: packets from requester to responder */
    uint32_t resp_flow;     /* index into trace.flow: packets from responder to requester */
    uint32_t requester_qpn; /* QPN of the requester, as CM messages or its peer's requests show it;
                             * else the destination QP of the responses */
    bool req_rxe, resp_rxe; /* the requester, or the responder, was recognised as Linux rxe */
    struct recorded_cm cm;
    bool stale;     /* late requests of an earlier connection with the same QPs may have arrived in
                     * this direction (qp_uses.h) */
    uint32_t twice; /* frame of an Atomic ACK, if only this packet suggests a QP reuse
                     * (qp_uses.h); 0: none */
    uint32_t *pkt;  /* indices into trace.pkt: requests and responses, in capture order */
    size_t cnt;
    size_t cap;
    bool after_gap;           /* the direction begins after a gap in the captured requests
                               * (split_at_gap.h) */
    uint32_t gap_psn;         /* first PSN of the gap, if `after_gap` is set */
    uint32_t gap_after_frame; /* number of the last frame before the gap, if `after_gap` is set; 0
                               * if no frame precedes the gap */
};

/* Packets of a trace flow that are in no direction. */
struct skipped_flow {
    uint32_t flow;
    uint32_t frame; /* frame number of the first of these packets */
    size_t packets;
    const char *reason; /* static string: reason why the packets belong to no direction */
};

/* Limit of directions. Our RNIC needs one QP for each direction. */
#define DIRECTIONS_MAX 16384u

struct connections {
    struct recorded_direction *dir; /* directions, in the order of their first packets */
    size_t dir_cnt;
    size_t dir_cap;
    struct skipped_flow *skip;
    size_t skip_cnt;
    size_t skip_cap;
    uint32_t *unassigned; /* packets that belong to no direction: indices into trace.pkt, in
                           * capture order */
    size_t unassigned_cnt;
    size_t unassigned_cap;
    bool *rxe; /* for each flow of the trace: whether the sender was recognised as Linux rxe
                * (flow/base/peer.h) */
};

/* Finds the connections of a trace. Returns 0, or -1 and an error: out of memory, or too many
 * directions. Call connections_free() in both cases. */
int connections_find(struct connections *connections, const struct trace *trace,
                     struct error *error);
void connections_free(struct connections *connections);
void recorded_direction_free(struct recorded_direction *recorded);

#endif
