/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Turn: a requester, of whose connection no CM message told, does what it may do in another use of
 * the QP as well as in this one: it goes back, or ahead, or rests; or a response does not fit. What
 * would be an ERROR from then on is held until something tells:
 *
 *  - The MSN counts the messages from 0 in another use (R102). One that is more than the messages
 *    since, and goes on from the one before, is of the same use; one that fell back to fewer is of
 *    another.
 *  - A go-back that sends what was sent, and then what comes next, is one.
 *  - The other direction began another use, or both hosts' QPs show one (life.h).
 *  - At the end of the capture one packet that differs is a fault; many are another use, and where
 *    the capture lacks packets nothing is sure.
 *
 * What is held is an ERROR, then, or a WARN. Private to flow/.
 */
#ifndef FLOW_TABLE_QP_REUSE_H
#define FLOW_TABLE_QP_REUSE_H

#include "flow/base/state.h"

/* The packet at hand may begin another use of `side`, with `psn`. False: CM would tell, or that is
 * so already. */
bool roce_reuse_suspect(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_reuse_kind kind,
                        uint32_t psn);

/* The packet at hand has another source port than those before. */
void roce_reuse_on_new_port(struct roce_ctx *ctx);

/* The response at hand, to `side`, has an MSN of fewer messages than were counted; `ends` of them
 * came since the response before. */
void roce_reuse_on_low_msn(struct roce_ctx *ctx, struct roce_endpoint *side, uint32_t ends);

/* The request at hand is part of the turn of its side; it takes `psn_cnt` PSNs, or with `guess` so
 * many at least. */
void roce_reuse_on_request(struct roce_ctx *ctx, uint32_t psn, uint32_t psn_cnt, bool guess);

/* It has the PSN of `e`; `now` is what it is itself. */
void roce_reuse_compare(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                        const struct roce_sent_packet *now);

/* It does not fit its neighbours. */
void roce_reuse_on_mismatch(struct roce_ctx *ctx);

/* The response at hand, to `side`, has an AETH: its MSN may end the turn. */
void roce_reuse_on_response(struct roce_ctx *ctx, struct roce_endpoint *side);

/* It is another use: so was the turn of `side`, if there is one. */
void roce_reuse_confirm(struct roce_ctx *ctx, struct roce_endpoint *side);

/* The connection ends: what is held is said. */
void roce_reuse_end(struct roce_ctx *ctx);

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
