/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QP reuse: another use of a pair of QPs. CM messages announce it; without them only the packets of
 * the QPs show it: a pause, a PSN that is not the next, a request that differs from what had its
 * PSN. Each of these may also be a retransmission or a fault. How it works:
 *
 * 1. roce_reuse_suspect() opens a candidate when one of these events happens (enum
 * roce_reuse_kind).
 * 2. While it is open, ERROR findings are deferred (roce_finding_defer()).
 * 3. Later packets decide (roce_reuse_on_request(), _compare(), _on_response()):
 *    - The MSN counts from 0 in a new use (R102). If it continues from the previous one, the QP was
 *      not reused. If it restarted below the number of messages sent since, it was.
 *    - A requester that repeats what it sent, and then continues, retransmits.
 *    - The other direction began a new use.
 * 4. If nothing decided until the connection ends (roce_reuse_end()): one packet that differs is a
 *    fault, many are a new use; where the capture lacks packets neither is certain.
 * 5. In the same use the deferred findings are reported as ERROR, otherwise as WARN.
 *
 * Private to flow/.
 */
#ifndef FLOW_TABLE_QP_REUSE_H
#define FLOW_TABLE_QP_REUSE_H

#include "flow/base/state.h"

/* Opens a candidate for a reuse of the QP of `side`, with `psn`. Returns false if CM would announce
 * a reuse, or if one is open. */
bool roce_reuse_suspect(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_reuse_kind kind,
                        uint32_t psn);

/* The packet at hand has another source port than the endpoint's packets before. */
void roce_reuse_on_new_port(struct roce_ctx *ctx);

/* The response at hand, to `side`, has an MSN below the number of messages counted; `ends` of these
 * came since the response before. */
void roce_reuse_on_low_msn(struct roce_ctx *ctx, struct roce_endpoint *side, uint32_t ends);

/* The request at hand came while a candidate of its endpoint is open; it takes `psn_cnt` PSNs, or
 * with `guess` at least that many. */
void roce_reuse_on_request(struct roce_ctx *ctx, uint32_t psn, uint32_t psn_cnt, bool guess);

/* Compares the request at hand, `now`, with `e`, which had its PSN. */
void roce_reuse_compare(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                        const struct roce_sent_packet *now);

/* The opcode of the request at hand does not fit its neighbours. */
void roce_reuse_on_mismatch(struct roce_ctx *ctx);

/* The response at hand, to `side`, has an AETH: its MSN may decide. */
void roce_reuse_on_response(struct roce_ctx *ctx, struct roce_endpoint *side);

/* The QP was reused: closes the candidate of `side`, if there is one. */
void roce_reuse_confirm(struct roce_ctx *ctx, struct roce_endpoint *side);

/* Decides what is still open when the connection ends, and reports the deferred findings. */
void roce_reuse_end(struct roce_ctx *ctx);

/* PSNs after the first PSN of a use that may be missing in a capture with gaps. */
#define ROCE_START_PSNS 64u

/* The functions below are about ctx->sender as requester. */

/* Returns whether the requester was idle long enough for a reuse of the QP. */
static inline bool roce_qp_was_idle(const struct roce_ctx *ctx)
{
    const struct roce_req *req = &ctx->sender->req;

    return req->last_time && roce_since(req->last_time, ctx->time) >= ROCE_IDLE_REUSE_NS;
}

/* Returns whether one of the QPs sent a fatal NAK: neither sends anything more in this use. */
bool roce_qp_was_refused(const struct roce_ctx *ctx);

/* Returns whether CM messages would not announce a reuse of the QPs. */
bool roce_reuse_is_unannounced(const struct roce_ctx *ctx);

/* Returns whether a reuse is unannounced and packets that would show it may be missing. */
bool roce_qp_may_be_reused(const struct roce_ctx *ctx);

/* Returns whether a new use of the QP with the same first PSN may begin with `psn`. */
bool roce_psn_may_start_use(const struct roce_ctx *ctx, uint32_t psn);

/* Returns whether `now`, the packet at hand, differs from `e`, which had its PSN. */
bool roce_request_differs(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                          const struct roce_sent_packet *now);

/* Returns whether `now` differs from `e` because the QP was probably reused: after an idle time, or
 * from the first PSN on if all before was acknowledged. */
bool roce_request_shows_reuse(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                              const struct roce_sent_packet *now, bool acked);

/* Starts the requester with `psn`, the first PSN captured. */
void roce_requester_start(struct roce_ctx *ctx, uint32_t psn);

/* Restarts the requester at `psn`: the QP pair was reused, or a hole is too large (!reuse). */
void roce_requester_restart(struct roce_ctx *ctx, uint32_t psn, bool reuse);

/* Resets both directions: some packets ago a new use began, and what is known may be of both uses.
 */
void roce_conn_forget_use(struct roce_ctx *ctx);

#endif
