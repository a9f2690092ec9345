/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Life: another use of a pair of QPs. CM messages tell of it; where there are none, only what the
 * QPs send does: a pause, a PSN that is not the next, a request that is not what was there before.
 * All of it may also be a go-back, or a fault: which, a turn finds out (turn.h). Private to flow/.
 */
#ifndef FLOW_TABLE_QP_LIFE_H
#define FLOW_TABLE_QP_LIFE_H

#include "flow/check.h"

/* PSNs from the first on: so many may be missing where packets are. */
#define ROCE_START_PSNS 64u

/* Of the side at hand, `ctx->sender`, as requester. */

/* Long enough for another use of the QP, which CM messages do not tell of. */
static inline bool roce_qp_was_idle(const struct roce_ctx *ctx)
{
    const struct roce_req *req = &ctx->sender->req;

    return req->last_time && roce_since(req->last_time, ctx->time) >= ROCE_IDLE_REUSE_NS;
}

/* A request was refused, and neither QP sends anything again: what comes is of another life. */
bool roce_qp_was_refused(const struct roce_ctx *ctx);

/* Nothing would tell of another use of the QP but what it sends. */
bool roce_reuse_is_unannounced(const struct roce_ctx *ctx);

/* The same, and packets that would may not be in the capture. */
bool roce_qp_may_be_reused(const struct roce_ctx *ctx);

/* Whether another use of the QP, of the same first PSN, would begin here. */
bool roce_psn_may_start_use(const struct roce_ctx *ctx, uint32_t psn);

/* Whether `now`, the packet at hand, which has the PSN of `e`, is not what was sent. */
bool roce_request_differs(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                          const struct roce_sent_packet *now);

/* The same, perhaps because the QP's number is used anew: after a rest, or soon and from the first
 * PSN on, where what was there had been acknowledged. */
bool roce_request_shows_reuse(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                              const struct roce_sent_packet *now, bool acked);

/* The direction begins, with the first packet that was seen of it. */
void roce_requester_start(struct roce_ctx *ctx, uint32_t psn);

/* It begins anew: another use of the QP pair (`reuse`), or a hole too large to bridge. */
void roce_requester_restart(struct roce_ctx *ctx, uint32_t psn, bool reuse);

/* It is another use since some packets: what was known may be of both, and is learned anew, as if
 * the capture began here. */
void roce_conn_forget_use(struct roce_ctx *ctx);

#endif
