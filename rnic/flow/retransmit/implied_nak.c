/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/retransmit/implied_nak.h"

#include "flow/base/any_order.h"
#include "flow/base/counters.h"
#include "flow/base/rate.h"
#include "flow/base/report.h"

/* Returns the opcode of the last response packet to `e`. Request `e` is a READ, an atomic or
 * another request that an ACK alone does not answer. */
static uint8_t response_opcode(const struct roce_sent_packet *e)
{
    uint8_t op = roce_opcode_is_atomic(roce_opcode(e->op)) ? ROCE_OP_RC_ATOMIC_ACK
                 : e->psn_cnt > 1                          ? ROCE_OP_RC_READ_RESP_LAST
                                                           : ROCE_OP_RC_READ_RESP_ONLY;

    return (uint8_t)((e->op & 0xE0) | op);
}

void roce_implied_nak(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e)
{
    e->flags |= ROCE_SENT_IMPLIED;
    if (roce_responses_in_any_order(ctx->flow, ctx->sender))
        return; /* this requester accepts responses in any order, and waits for the missing ones */
    ctx->result->flags |= ROCE_AN_IMPLIED_NAK;
    roce_rate_hole(ctx->sender);
    if (ctx->pkt->bth.psn == ((roce_sent_end(e) - 1) & ROCE_PSN_MASK))
        REPORT(ctx, IMPLIED_NAK, "bth.opcode", response_opcode(e), ctx->pkt->bth.opcode,
               e->last_frame, ROCE_VALUE_OPCODE); /* expected: the response that completes the
                                                   * request; found: only an ACK */
    else
        REPORT(ctx, IMPLIED_NAK, "bth.psn", e->psn, ctx->pkt->bth.psn, e->last_frame);
    if (!req->implied_nak || roce_diff(e->psn, req->implied_nak_psn) < 0)
        req->implied_nak_psn = e->psn;
    req->implied_nak = true;
    if (!(e->marks & ROCE_MARK_RESP_GAP)) /* if a READ response was missing before, that gap is the
                                           * cause of the go-back, not the implied NAK */
        req->pending_cause = ROCE_CAUSE_IMPLIED_NAK;
}

/* Records a repeated implied NAK: the current response acknowledges the PSNs before `upto`, but a
 * READ or atomic among them was retransmitted for an implied NAK and is still unanswered. */
void roce_implied_nak_again(struct roce_ctx *ctx, struct roce_req *req, uint32_t upto)
{
    struct roce_window *w = &req->win;

    for (uint32_t i = roce_window_find(w, req->implied_nak_psn); i < w->acked; i++) {
        struct roce_sent_packet *e = roce_window_at(w, i);

        if (!roce_opcode_is_answered(roce_opcode(e->op)) ||
            ((e->flags & ROCE_SENT_DONE) && !(e->marks & ROCE_MARK_REREQUESTED)))
            continue;
        if (e->psn != req->implied_nak_psn && (e->marks & ROCE_MARK_REREQUESTED)) {
            /* The requester has retransmitted `e` since, but in a go-back to another request. So
             * the earlier implied NAKs of `e` did not cause this go-back. Clear their record, so
             * that a new implied NAK of `e` is recorded. */
            e->flags &= (uint8_t)~ROCE_SENT_IMPLIED;
            e->marks &= (uint8_t)~ROCE_MARK_RESP_GAP;
        }
        req->implied_nak_psn = e->psn;
        if (!(e->flags & ROCE_SENT_IMPLIED) && roce_diff(roce_sent_end(e), upto) <= 0)
            roce_implied_nak(ctx, req, e);
        return;
    }
    req->implied_nak = false;
}

/* Returns true if the requester still waits for an earlier READ or atomic and has retransmitted
 * `e`. The requester then discards responses to the first transmission of `e`. */
bool roce_response_is_stale(const struct roce_req *req, const struct roce_sent_packet *e)
{
    return req->implied_nak && (e->marks & ROCE_MARK_REREQUESTED) &&
           roce_diff(req->implied_nak_psn, e->psn) < 0;
}

/* Counts a READ as completed, without a latency, because the time at which the requester accepted
 * the last response is unknown. */
void roce_read_done(struct roce_ctx *ctx, struct roce_endpoint *requester,
                    struct roce_sent_packet *e)
{
    struct roce_oper_count *sum;

    if (roce_opcode(e->op)->kind != ROCE_KIND_READ || (e->flags & ROCE_SENT_DONE) ||
        e->dma_len == ROCE_LEN_UNKNOWN)
        return;
    sum = roce_oper_cnt(ctx->flow, requester, ROCE_OPER_READ);
    sum->completed++;
    sum->bytes += e->dma_len;
    roce_report_done(ctx, requester, e, e->dma_len, ROCE_NEVER_NS);
    e->flags |= ROCE_SENT_DONE;
}

/* Counts READs as completed when the requester goes back to `psn`, which is in the first READ with
 * a missing response. `sure` is true if `psn` is in the middle of a READ: then the requester has
 * accepted all responses before `psn`. If `sure` is false, the capture may lack retransmitted
 * packets with PSNs before `psn`. */
void roce_reads_done_before(struct roce_ctx *ctx, uint32_t psn, bool sure)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_window *w = &req->win;

    if (!req->implied_nak || roce_diff(req->implied_nak_psn, psn) >= 0)
        return;
    for (uint32_t i = roce_window_find(w, req->implied_nak_psn); i < w->cnt; i++) {
        struct roce_sent_packet *e = roce_window_at(w, i);

        req->implied_nak_psn = e->psn;
        if (roce_diff(roce_sent_end(e), psn) > 0)
            return;
        if (sure || e->resp_high == e->psn_cnt)
            roce_read_done(ctx, ctx->sender, e);
    }
}

void roce_reads_done_at_end(struct roce_ctx *ctx, struct roce_endpoint *requester)
{
    struct roce_req *req = &requester->req;
    struct roce_window *w = &req->win;

    /* A later request than these READs was answered, and the requester did not retransmit the
     * READs. Therefore a READ is complete if all its responses were captured. */
    for (uint32_t i = 0; i < w->acked; i++)
        if (roce_sent_has_all_responses(roce_window_at(w, i)))
            roce_read_done(ctx, requester, roce_window_at(w, i));
    for (; w->acked < w->cnt; w->acked++) {
        struct roce_sent_packet *e = roce_window_at(w, w->acked);

        if ((e->flags & ROCE_SENT_DONE) || !roce_sent_has_all_responses(e))
            return;
        roce_read_done(ctx, requester, e);
        req->una = roce_sent_end(e);
    }
}
