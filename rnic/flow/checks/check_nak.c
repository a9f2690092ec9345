/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Checks when a responder may send a NAK, and which responses it may send after a NAK. */
#include "flow/checks/check_nak.h"

#include "flow/base/counters.h"
#include "flow/base/report.h"
#include "flow/checks/check_ack.h"
#include "flow/retransmit/copy.h"
#include "flow/table/qp_reuse.h"

/* shortest time between the end of a connection and the first packet of a later connection with the
 * same QPNs, ns */
#define SAME_LIFE_NS UINT64_C(10000000)
/* shortest time between the latest request of a connection and the first response of a later
 * connection with the same QPNs, ns */
#define REUSE_NS_MIN UINT64_C(50000)
/* An MSN below this value may belong to a connection that just began, because its first message has
 * MSN 1. */
#define MSN_SURE 16u
/* A response continues the MSNs of a connection if its MSN exceeds the MSN of the previous captured
 * response by at most this number. */
#define MSN_STEP_MAX 64u
#define PSNS_PER_NS  2u /* no link transmits more PSNs per ns */

static void check_rnr(struct roce_ctx *ctx, struct roce_req *req)
{
    uint32_t psn = ctx->pkt->bth.psn;
    const struct roce_sent_packet *e = roce_window_get(&req->win, psn);
    const struct roce_opcode *op = e ? roce_opcode(e->op) : NULL;

    if (e && roce_sent_is_paged(e))
        roce_cold(ctx->flow, ctx->sender)->rnr_paged++;
    if (!e || e->psn != psn)
        return;
    if (!roce_opcode_uses_rq(op))
        REPORT(ctx, RNR_NO_RWQE, "aeth.syndrome", ROCE_CREDIT_NONE, ctx->pkt->aeth.syndrome,
               e->last_frame, ROCE_VALUE_SYNDROME,
               .condition = op->kind == ROCE_KIND_READ ? "read" : NULL);
    else if (op->kind == ROCE_KIND_SEND && !roce_opcode_starts(op))
        REPORT(ctx, RNR_SEND_POS, "bth.psn", e->psn - 1, psn, e->last_frame,
               .rel = ROCE_REL_AT_MOST);
}

static void check_seq(struct roce_ctx *ctx, struct roce_req *req)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    uint32_t psn = ctx->pkt->bth.psn;
    const struct roce_cold_counters *sum = roce_cold_of(ctx->sender);
    const struct roce_sent_packet *e = roce_window_get(&req->win, psn);
    bool detectable = roce_copy_is_detectable(ctx, rsp->gap_frame),
         seen = roce_conn_has_copies(ctx);
    /* true: the responder sent this NAK before the previous captured response, but the capture has
     * the response first */
    bool overtaken = roce_diff(ctx->pkt->aeth.msn, rsp->last_msn) < 0;

    if (rsp->rnr && rsp->rnr_psn == psn && !seen)
        REPORT(ctx, NAK_AFTER_RNR, "aeth.syndrome", .other = rsp->rnr_frame,
               .value = ROCE_VALUE_NONE);
    else if (rsp->gap_nak && rsp->gap_psn == psn && (detectable || !seen))
        REPORT(ctx, NAK_TWICE, "bth.psn", psn, psn, rsp->gap_frame, .value = ROCE_VALUE_NONE,
               .weak = !detectable,
               .condition = sum->rnr_naks > 0 || (e && roce_opcode_uses_rq(roce_opcode(e->op)))
                                ? "rnr"
                                : NULL);
    else if (req->una_known && roce_diff(psn, req->una) < 0 && !seen && !overtaken)
        REPORT(ctx, NAK_STALE, "bth.psn", req->una, psn, rsp->last_frame, .rel = ROCE_REL_AT_LEAST);
}

/* Checks a NAK "remote access error". A SEND without invalidate has no R_Key and accesses no remote
 * memory, so the responder must not refuse it with this NAK (R083). */
static void check_access(struct roce_ctx *ctx, struct roce_req *req)
{
    const struct roce_sent_packet *e = roce_window_get(&req->win, ctx->pkt->bth.psn);
    const struct roce_opcode *op = e ? roce_opcode(e->op) : NULL;

    if (op && op->kind == ROCE_KIND_SEND && !roce_opcode_has(op, ROCE_HDR_IETH))
        REPORT(ctx, NAK_ACCESS, "bth.opcode", .actual = e->op, .other = e->last_frame,
               .value = ROCE_VALUE_NONE);
}

void roce_check_nak(struct roce_ctx *ctx, struct roce_req *req)
{
    uint8_t syndrome = ctx->pkt->aeth.syndrome;

    if (roce_syndrome_kind(syndrome) == ROCE_SYN_RNR)
        check_rnr(ctx, req);
    else if (roce_syndrome_code(syndrome) == ROCE_NAK_PSN_SEQ)
        check_seq(ctx, req);
    else if (req->una_known && roce_diff(ctx->pkt->bth.psn, req->una) < 0)
        REPORT(ctx, NAK_DUPLICATE, "bth.psn", req->una, ctx->pkt->bth.psn,
               ctx->sender->rsp.last_frame, .rel = ROCE_REL_AT_LEAST);
    else if (roce_syndrome_code(syndrome) == ROCE_NAK_REMOTE_ACCESS)
        check_access(ctx, req);
}

/* Returns whether the current response belongs to the connection that the fatal NAK ended, not to a
 * later connection of the same QPNs. One of three signs is enough: the response follows soon after
 * the NAK; the MSN of the response continues the earlier MSNs; CM messages of the connection were
 * captured, so the capture would also have CM messages of a later connection. */
static bool is_of_refused_use(const struct roce_ctx *ctx, struct roce_req *req)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    const struct roce_sent_packet *e = roce_window_get(&req->win, ctx->pkt->bth.psn);

    if (roce_since(rsp->fatal_time, ctx->time) < SAME_LIFE_NS || roce_conn_cm_seen(ctx->conn))
        return true;
    return e && roce_pkt_has(ctx->pkt, ROCE_HDR_AETH) && rsp->last_msn > 0 &&
           roce_msn_fits(rsp, e, ctx->pkt->aeth.msn);
}

/* Deletes the record of a fatal NAK if the responder executed a request that the requester sent
 * after the NAK. Then the NAK did not stop the QPs. */
static void forget_fatal_nak(struct roce_ctx *ctx, struct roce_req *req)
{
    struct roce_conn_facts *facts = &ctx->conn->facts;
    struct roce_rsp *rsp = &ctx->sender->rsp;
    const struct roce_sent_packet *e = roce_window_get(&req->win, ctx->pkt->bth.psn);

    if (!e || e->frame < rsp->fatal_frame || facts->end != ROCE_END_NAK ||
        facts->end_frame != rsp->fatal_frame || roce_pkt_is_nak(ctx->pkt))
        return;
    facts->end = ROCE_END_OPEN;
    rsp->fatal = false;
}

/* Returns whether the current response belongs to the connection of the latest request, not to a
 * later connection of the same QPNs. `since` is the time from the latest request to the response,
 * ns. One of three signs is enough: the response is too early for a later connection; the MSN of
 * the response continues the earlier MSNs; CM messages of the connection were captured, so the
 * capture would also have CM messages of a later connection. */
static bool is_of_same_use(const struct roce_ctx *ctx, uint64_t since)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;

    return roce_conn_cm_seen(ctx->conn) || since < REUSE_NS_MIN ||
           (roce_pkt_has(ctx->pkt, ROCE_HDR_AETH) && rsp->last_msn >= MSN_SURE &&
            ctx->pkt->aeth.msn - rsp->last_msn <= MSN_STEP_MAX);
}

/* Checks a response with a PSN far after the captured requests. Some requests may be missing in the
 * capture, but not more than a link can transmit since the latest captured one. */
static void check_ack_ahead(struct roce_ctx *ctx, const struct roce_req *req)
{
    int32_t ahead = roce_diff(ctx->pkt->bth.psn, req->nxt);
    uint64_t since = roce_since(req->last_time, ctx->time) + ctx->flow->grain;

    if (ahead > ROCE_PSN_JUMP)
        REPORT(ctx, ACK_BEFORE_START, "bth.psn", (req->nxt - 1) & ROCE_PSN_MASK, ctx->pkt->bth.psn,
               .rel = ROCE_REL_AT_MOST,
               .weak = (uint64_t)ahead <= PSNS_PER_NS * since || !is_of_same_use(ctx, since));
}

void roce_check_ack_psn(struct roce_ctx *ctx, struct roce_req *req)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    uint32_t psn = ctx->pkt->bth.psn;
    const struct roce_sent_packet *oldest = req->win.cnt ? roce_window_at(&req->win, 0) : NULL;
    int32_t before = roce_diff(psn, req->base);
    /* If the requester sent all captured requests after the fatal NAK, the QPs may have been
     * reused. */
    bool later = oldest && oldest->psn == req->base && oldest->frame > rsp->fatal_frame &&
                 !roce_conn_cm_seen(ctx->conn);

    if (rsp->fatal && roce_diff(psn, req->nxt) >= 0)
        (void)roce_reuse_suspect(ctx, roce_peer(ctx->sender), ROCE_REUSE_UNSOLICITED, psn);
    if (rsp->fatal && roce_diff(psn, rsp->fatal_psn) >= 0 && is_of_refused_use(ctx, req)) {
        REPORT(ctx, ACK_AFTER_NAK, "bth.psn", (rsp->fatal_psn - 1) & ROCE_PSN_MASK, psn,
               rsp->fatal_frame, .rel = ROCE_REL_AT_MOST, .weak = later);
        forget_fatal_nak(ctx, req);
    }
    check_ack_ahead(ctx, req);
    if (req->base_sure && before < 0 && before > -ROCE_PSN_JUMP) {
        (void)roce_reuse_suspect(ctx, roce_peer(ctx->sender), ROCE_REUSE_UNSOLICITED, psn);
        /* An unsolicited ACK with the PSN before the first request is not a violation: a responder
         * may send its first credits this way. */
        REPORT(ctx, ACK_BEFORE_START, "bth.psn", req->base, psn, .rel = ROCE_REL_AT_LEAST,
               .weak =
                   before == -1 && ctx->pkt->op->kind == ROCE_KIND_ACK && ctx->pkt->aeth.msn == 0);
    }
}
