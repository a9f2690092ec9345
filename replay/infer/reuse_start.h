/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Reuse start: finds the first packet of a use of a QP pair. rnic/flow detects a QP reuse without
 * CM messages only at a packet that no retransmission explains. That packet may not be the first of
 * the new use: if one QP begins with the same PSN as before, its first requests look like
 * retransmissions. connections.c calls these functions.
 */
#ifndef REPLAY_INFER_REUSE_START_H
#define REPLAY_INFER_REUSE_START_H

#include "flow/flow.h"
#include "infer/trace.h"

/* One use of a QP pair: from the first frame of the connection, or from a QP reuse, to the next QP
 * reuse. */
struct qp_use {
    uint32_t conn_index;
    uint32_t frame;
    uint32_t req_frame, rep_frame;
    bool cm; /* the capture has the REQ and the REP that set up the QPs */
    uint8_t active_side;
    struct roce_cm_req req;
    struct roce_cm_rep rep;
};

/* Returns how many elements of `use` are not after (conn_index, frame). `use` is sorted by
 * connection, then by frame. */
size_t qp_uses_to(const struct qp_use *use, size_t cnt, uint32_t conn_index, uint32_t frame);

/*
 * Sets `frame` of each use without CM messages to the first request of that use. This request has a
 * PSN of the previous use, but another opcode or other contents. Two conditions must hold. One of
 * the requests with such a PSN is a new operation at the first PSN of the previous use, and Linux
 * rxe does not send it instead of a retransmission (D41). And from the first of them on, the
 * requester repeats no request of the previous use. `owner` has one element for each packet of the
 * trace. Returns false if out of memory.
 */
bool reuse_starts_find(const struct trace *trace, const struct roce_flow_owner *owner,
                       struct qp_use *use, size_t cnt);

/* Returns whether packet `idx` of the trace is an empty Only packet which Linux rxe inserted (D41),
 * and not the first packet of a new use. The packet is inserted if the request that had its PSN
 * before now has the next PSN. */
bool reuse_is_shift(const struct trace *trace, uint32_t idx);

/*
 * Removes uses that only a retransmission of the first requests seems to begin, and returns the
 * number of uses left. Linux rxe sends an empty Only packet for each request that was not complete
 * before RESET (D57), and then the first requests of the new use. A retransmission of these
 * requests begins at the first PSN, without the empty Only packets. Such a use begins at the first
 * empty Only packet. It is removed if the previous use begins there or later. `use` is sorted.
 */
size_t reuse_starts_unshift(const struct trace *trace, struct qp_use *use, size_t cnt);

/* Returns whether request `idx` of the trace belongs to a go-back, and so does not begin a new use:
 * the requests of its QP before and after it repeat earlier requests, with PSNs around its PSN. */
bool reuse_is_in_go_back(const struct trace *trace, uint32_t idx);

/* Returns whether request `idx` of the trace repeats the tail of an earlier READ, and so does not
 * begin a new use. */
bool reuse_is_read_restart(const struct trace *trace, uint32_t idx);

/* Returns whether request `idx` of the trace equals the latest request of its QP with its PSN. */
bool reuse_is_repeat(const struct trace *trace, uint32_t idx);

/* Returns whether the PSN of request `idx` of the trace follows that of the previous request of its
 * QP. */
bool reuse_continues(const struct trace *trace, uint32_t idx);

#endif
