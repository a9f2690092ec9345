/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Reuse start: finds the first packet of a use of a QP pair. rnic/flow detects a QP reuse without
 * CM messages at a packet that no retransmission explains. If one QP begins again with the same PSN
 * and the other one with another PSN, packets of the first QP may precede the detected packet.
 * connections.c calls it.
 */
#ifndef REPLAY_INFER_REUSE_START_H
#define REPLAY_INFER_REUSE_START_H

#include "flow/flow.h"
#include "infer/trace.h"

/* One use of a QP pair, from the first frame of the connection to QP reuse. */
struct qp_use {
    uint32_t conn_index;
    uint32_t frame;
    uint32_t req_frame, rep_frame;
    bool cm; /* captured REQ and REP of the connection manager set up the QPs */
    uint8_t active_side;
    struct roce_cm_req req;
    struct roce_cm_rep rep;
};

/* Returns the number of elements of `use` up to (conn_index, frame), including an equal one. `use`
 * is sorted by connection and frame. */
size_t qp_uses_to(const struct qp_use *use, size_t cnt, uint32_t conn_index, uint32_t frame);

/*
 * Sets `frame` of each use without CM messages to its first request. This is the first request with
 * a PSN of the previous use, but with another opcode or content. One of these requests has the
 * first PSN of the previous use, and the requester then sends no request of the previous use any
 * more. `owner` has one element for each packet of the trace. Returns false if out of memory.
 */
bool reuse_starts_find(const struct trace *trace, const struct roce_flow_owner *owner,
                       struct qp_use *use, size_t cnt);

/* Returns whether packet `idx` of the trace is an empty Only packet of Linux rxe (D41), and not the
 * first of a new use: the request with the next PSN is the one that had the PSN of `idx` before.
 */
bool reuse_is_shift(const struct trace *trace, uint32_t idx);

#endif
