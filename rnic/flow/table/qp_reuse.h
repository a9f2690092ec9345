/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QP reuse: another use of a pair of QPs. CM messages announce a reuse. Without CM messages the
 * signs of a reuse are an idle time, a PSN out of sequence, or a request that differs from the
 * earlier request with its PSN. Each sign may also be a retransmission or a fault. Algorithm:
 *
 * 1. roce_reuse_suspect() opens a candidate at one of these signs (enum roce_reuse_kind).
 * 2. While the candidate is open, ERROR findings are deferred (roce_finding_defer()).
 * 3. Later packets decide (roce_reuse_on_request(), _compare(), _on_response()):
 *    - The MSN counts from 0 in a new use (R102). If the MSN continues from the previous one, the
 *      QP was not reused. If the MSN restarted below the number of messages sent since, it was.
 *    - A requester that repeats earlier requests, and then continues, retransmits.
 *    - The QP was reused if the other direction began a new use.
 * 4. If the connection ends before a decision (roce_reuse_end()), one differing packet is a fault,
 *    and many are a new use. If packets are missing in the capture, neither is certain.
 * 5. If the QP was not reused, the deferred findings are reported as ERROR, otherwise as WARN.
 *
 * Private to flow/.
 */
#ifndef FLOW_TABLE_QP_REUSE_H
#define FLOW_TABLE_QP_REUSE_H

#include "flow/base/state.h"

/* Opens a candidate for a QP reuse of `side` that starts with `psn`. Returns false if CM messages
 * would announce a reuse, or if a candidate is already open. */
bool roce_reuse_suspect(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_reuse_kind kind,
                        uint32_t psn);

/* Handles a packet whose source port differs from the endpoint's earlier packets. */
void roce_reuse_on_new_port(struct roce_ctx *ctx);

/* Handles a response to `side` with an MSN below the number of completed messages. `ends` is the
 * number of messages completed since the previous response. */
void roce_reuse_on_low_msn(struct roce_ctx *ctx, struct roce_endpoint *side, uint32_t ends);

/* Handles the current request while its endpoint has an open candidate. The request has `psn_cnt`
 * PSNs; if `guess`, at least `psn_cnt`. */
void roce_reuse_on_request(struct roce_ctx *ctx, uint32_t psn, uint32_t psn_cnt, bool guess);

/* Compares the current request `now` with `e`, an earlier request with the same PSN. */
void roce_reuse_compare(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                        const struct roce_sent_packet *now);

/* Handles a request whose opcode does not fit its neighbours in PSN order. */
void roce_reuse_on_mismatch(struct roce_ctx *ctx);

/* Handles a response to `side` with an AETH. Its MSN may confirm or refute an open candidate. */
void roce_reuse_on_response(struct roce_ctx *ctx, struct roce_endpoint *side);

/* Decides open candidates when the connection ends, and reports the deferred findings. */
void roce_reuse_end(struct roce_ctx *ctx);

/* If a QP number is used again: maximum number of PSNs that the capture may lack between the first
 * PSN of the new connection and its first captured packet. */
#define ROCE_START_PSNS 64u

/* roce_qp_was_idle() to roce_requester_restart() use ctx->sender as the requester. */

/* Returns whether the requester was idle long enough for a reuse of its QP. */
static inline bool roce_qp_was_idle(const struct roce_ctx *ctx)
{
    const struct roce_req *req = &ctx->sender->req;

    return req->last_time && roce_since(req->last_time, ctx->time) >= ROCE_IDLE_REUSE_NS;
}

/* Returns whether one of the QPs sent a fatal NAK, which ends this use of both QPs. */
bool roce_qp_was_refused(const struct roce_ctx *ctx);

/* Returns whether CM messages would not announce a reuse of the QPs. */
bool roce_reuse_is_unannounced(const struct roce_ctx *ctx);

/* Returns whether an unannounced reuse is possible and packets that would show it may be missing.
 */
bool roce_qp_may_be_reused(const struct roce_ctx *ctx);

/* Returns whether `psn` may begin a new use of the QP with the same first PSN. */
bool roce_psn_may_start_use(const struct roce_ctx *ctx, uint32_t psn);

/* Returns whether `now` probably differs from `e` because the QP was reused: after an idle time, or
 * at the first PSN after all requests were acknowledged. */
bool roce_request_shows_reuse(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                              const struct roce_sent_packet *now, bool acked);

/* Initializes the requester with `psn`, the first PSN captured. */
void roce_requester_start(struct roce_ctx *ctx, uint32_t psn);

/* Reinitializes the requester at `psn`: its QP was reused (`reuse`), or the gap in the capture is
 * too large. */
void roce_requester_restart(struct roce_ctx *ctx, uint32_t psn, bool reuse);

#endif
