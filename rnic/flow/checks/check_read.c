/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks READ responses and Atomic ACKs against the requests that they answer. If the requester
 * restarted a READ at a later PSN, the response starts there with First or Only. The capture may
 * lack the READ request of the restart. So a finding is an ERROR only if no restart explains it.
 */
#include "flow/checks/check_read.h"

#include "flow/base/any_order.h"
#include "flow/base/counters.h"
#include "flow/base/report.h"
#include "flow/checks/check_nak.h"
#include "flow/retransmit/copy.h"
#include "flow/table/qp_reuse.h"

static void check_len(struct roce_ctx *ctx, const struct roce_sent_packet *e, uint32_t k)
{
    uint32_t mtu = ctx->conn->facts.mtu, want;

    if (e->psn_cnt > 1 && (!ctx->conn->facts.mtu_sure || (uint64_t)k * mtu >= e->dma_len))
        return;
    want = k + 1 < e->psn_cnt ? mtu : e->dma_len - k * mtu;
    if (ctx->pkt->payload_len != want)
        REPORT(ctx, READ_RESP_LEN, "payload length", want, ctx->pkt->payload_len, e->last_frame);
}

/* Returns whether `e` is certainly a complete READ, not the rest of an earlier READ that the
 * requester restarted: the packet directly before `e` in PSN order was captured. */
static bool is_whole(struct roce_req *req, const struct roce_sent_packet *e)
{
    uint32_t i = roce_window_find(&req->win, e->psn);
    const struct roce_sent_packet *prev = i > 0 ? roce_window_at(&req->win, i - 1) : NULL;

    return prev && roce_sent_end(prev) == e->psn && !(prev->flags & ROCE_SENT_PSN_CNT_GUESS);
}

static void check_pos(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e,
                      uint32_t k)
{
    const struct roce_opcode *op = ctx->pkt->op;
    uint8_t base = (uint8_t)(op->value & 0xE0);
    bool last = k + 1 == e->psn_cnt, again = (e->flags & ROCE_SENT_RESTARTED) != 0;
    uint8_t want = k == 0 ? (last ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_READ_RESP_FIRST)
                          : (last ? ROCE_OP_RC_READ_RESP_LAST : ROCE_OP_RC_READ_RESP_MIDDLE);

    want |= base;
    if (op->value == want) { /* the opcode of a response to the first transmission of the READ
                              * request */
        /* If the requester restarted the READ at this PSN, the first response should have the
         * opcode First or Only. Another opcode is a violation, unless the packet is a late response
         * to the first transmission of the READ request. A late response is impossible if the
         * responder completely answered the first transmission (`ended`). A late response is
         * improbable if a timeout caused the restart (`silent`). */
        bool silent =
            (req->retx.cause == ROCE_CAUSE_TIMEOUT || req->retx.cause == ROCE_CAUSE_SPURIOUS) &&
            e->last_frame >= req->retx.frame;
        bool ended = e->tries == 2 && e->resp_high == e->psn_cnt;

        if (again && k > 0 && k == e->restart && (silent || ended) && e->last_frame != e->frame &&
            !roce_conn_has_copies(ctx))
            REPORT(ctx, READ_RESTART, "bth.opcode",
                   base | (last ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_READ_RESP_FIRST),
                   op->value, e->last_frame, ROCE_VALUE_OPCODE);
        return;
    }
    if (k > 0 && ((!last && op->pos == ROCE_POS_FIRST) || (last && op->pos == ROCE_POS_ONLY))) {
        if (!again)
            REPORT(ctx, READ_RESP_START, "bth.psn", e->psn, ctx->pkt->bth.psn, e->last_frame);
        return;
    }
    REPORT(ctx, READ_RESP_ORDER, "bth.opcode", want, op->value, e->last_frame, ROCE_VALUE_OPCODE,
           /* `e` may be the rest of an earlier READ that the requester restarted, and this response
            * may answer the first request of that READ */
           .weak = k == 0 && !is_whole(req, e),
           .condition = again || !is_whole(req, e)          ? "restart"
                        : k == 0 && !roce_opcode_starts(op) ? "start"
                                                            : NULL);
}

/* Records that the current READ response came after the response to a later request. If the
 * requester accepts responses in this order, this is not a violation: roce_check_reads_end()
 * decides that. */
static void note_late_read(struct roce_ctx *ctx, const struct roce_req *req)
{
    struct roce_late_read *late = &roce_cold(ctx->flow, ctx->sender)->late_read;

    if (late->frame == 0)
        *late = (struct roce_late_read){.time = ctx->time,
                                        .frame = ctx->frame,
                                        .psn = ctx->pkt->bth.psn,
                                        .una = req->una,
                                        .after = ctx->sender->rsp.last_frame};
}

void roce_check_reads_end(struct roce_ctx *ctx)
{
    const struct roce_late_read *late = &roce_cold_of(ctx->sender)->late_read;
    struct roce_ctx then = *ctx;

    then.frame = late->frame;
    then.time = late->time;
    if (late->frame && !roce_responses_in_any_order(ctx->flow, ctx->sender))
        REPORT(&then, RESP_ORDER, "bth.psn", late->una, late->psn, late->after,
               .rel = ROCE_REL_AT_LEAST);
}

void roce_check_read_resp(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e,
                          const struct roce_read_step *step)
{
    uint32_t psn = ctx->pkt->bth.psn, k = (psn - e->psn) & ROCE_PSN_MASK;

    roce_check_ack_psn(ctx, req);
    if (k < e->resp_next && e->tries == 1 && step->repeated) /* the READ was transmitted once, and
                                                              * the response with this PSN was
                                                              * captured before */
        (void)roce_reuse_suspect(ctx, roce_peer(ctx->sender), ROCE_REUSE_UNSOLICITED, psn);
    check_len(ctx, e, k);
    check_pos(ctx, req, e, k);
    if ((e->flags & ROCE_SENT_IMPLIED) && !(e->flags & ROCE_SENT_RESTARTED) &&
        !roce_conn_has_copies(ctx))
        note_late_read(ctx, req);
    if (step->repeated)
        ctx->result->flags |= ROCE_AN_DUPLICATE_RESPONSE;
    if (step->missing) {
        ctx->result->flags |= ROCE_AN_PSN_GAP;
        ctx->result->gap = step->missing;
        REPORT(ctx, READ_RESP_GAP, "bth.psn", step->expected, psn, e->last_frame);
    }
    if (step->repeated &&
        (k < e->resp_next || (roce_sent_has_response(e, k) && !(e->flags & ROCE_SENT_RESTARTED)))) {
        ctx->result->flags |= ROCE_AN_DUPLICATE_RESPONSE;
        REPORT(ctx, RESP_DUPLICATE, "bth.psn", (e->psn + e->resp_next) & ROCE_PSN_MASK, psn,
               e->resp_frame);
    } else if (step->late || (k < e->resp_high && !(e->flags & ROCE_SENT_RESTARTED))) {
        roce_cold(ctx->flow, ctx->sender)->late_responses++;
        e->marks |= ROCE_MARK_RESP_LATE;
        ctx->result->flags |= ROCE_AN_OUT_OF_ORDER;
        REPORT(ctx, OUT_OF_ORDER, "bth.psn", (e->psn + e->resp_high) & ROCE_PSN_MASK, psn,
               e->last_frame);
    }
}

void roce_check_atomic_ack(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e)
{
    const struct roce_opcode *op = roce_opcode(e->op);
    uint64_t orig = ctx->pkt->atomicacketh.orig;

    roce_check_ack_psn(ctx, req);
    if (!roce_opcode_is_atomic(op) && op->kind != ROCE_KIND_ATOMIC_WRITE) {
        REPORT(ctx, ATOMIC_ACK_KIND, "bth.opcode", e->op, ctx->pkt->bth.opcode, e->last_frame,
               ROCE_VALUE_OPCODE, .condition = op->kind == ROCE_KIND_READ ? "read" : NULL);
        return;
    }
    if (!roce_pkt_has(ctx->pkt, ROCE_HDR_ATOMICACKETH))
        return;
    if (e->flags & ROCE_SENT_ORIG) {
        ctx->result->flags |= ROCE_AN_DUPLICATE_RESPONSE;
        if (e->tries == 1)
            (void)roce_reuse_suspect(ctx, roce_peer(ctx->sender), ROCE_REUSE_UNSOLICITED,
                                     ctx->pkt->bth.psn);
        if (e->orig != orig)
            REPORT(ctx, ATOMIC_REPLAY, "atomicacketh.orig", e->orig, orig, e->resp_frame,
                   ROCE_VALUE_HEX);
        else
            REPORT(ctx, RESP_DUPLICATE, "bth.psn", .actual = ctx->pkt->bth.psn,
                   .other = e->resp_frame, .value = ROCE_VALUE_NONE);
        return;
    }
    e->orig = orig;
    e->flags |= ROCE_SENT_ORIG;
    e->resp_frame = ctx->frame;
}
