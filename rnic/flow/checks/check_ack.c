/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * AETH checks: syndromes, credits and the MSN. The MSN of a response is compared with a reference:
 * the MSN of an earlier response plus the number of messages that ended since. After a gap in the
 * captured PSNs the number of messages is unknown, so the reference is inferred again.
 */
#include "flow/checks/check_ack.h"

#include "flow/base/counters.h"
#include "flow/base/report.h"
#include "flow/table/qp_reuse.h"

/* a wrong MSN is an ERROR only after this number of consecutive messages with the expected MSN */
#define MSN_REF_HITS 3

/* Returns whether the current packet may answer a request that uses a receive WQE (SEND, WRITE with
 * immediate). Returns true if the request was not captured. */
static bool took_receive(struct roce_ctx *ctx)
{
    struct roce_req *req = &roce_peer(ctx->sender)->req;
    const struct roce_sent_packet *e =
        req->started ? roce_window_get(&req->win, ctx->pkt->bth.psn) : NULL;

    return !e || roce_opcode_uses_rq(roce_opcode(e->op));
}

/* Records the time at which the responder granted no more credit, and the time at which it granted
 * a credit again. */
static void note_credit(struct roce_ctx *ctx, uint8_t code)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    struct roce_cold_counters *cold;

    if (rsp->credit_seen && (code == 0) == (rsp->credit_code == 0))
        return;
    if (code && !rsp->credit_seen)
        return;
    cold = roce_cold(ctx->flow, ctx->sender);
    if (code == 0) {
        cold->credit_out_time = ctx->time;
        cold->credit_back_time = 0;
    } else if (cold->credit_out_time) {
        cold->credit_back_time = ctx->time;
    }
}

uint64_t roce_credit_wait(struct roce_ctx *ctx)
{
    struct roce_endpoint *peer = roce_peer(ctx->sender);
    struct roce_cold_counters *cold;
    uint64_t ns;

    if (!roce_opcode_uses_rq(ctx->pkt->op) || !peer->rsp.credit_seen ||
        roce_cold_of(peer)->credit_out_time == 0)
        return 0;
    cold = roce_cold(ctx->flow, peer);
    ns = cold->credit_back_time ? roce_since(cold->credit_out_time, cold->credit_back_time) : 0;
    if (ns < ROCE_SILENCE_NS || roce_since(cold->credit_back_time, ctx->time) > ns / 4)
        ns = 0;
    cold->credit_out_time = cold->credit_back_time = 0;
    if (ns)
        roce_spread_add(&roce_cold(ctx->flow, ctx->sender)->credit_waits, ns);
    return ns;
}

void roce_check_aeth(struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;
    struct roce_rsp *rsp = &ctx->sender->rsp;
    uint8_t syndrome = pkt->aeth.syndrome, code = roce_syndrome_code(syndrome);
    uint32_t credits;

    ctx->lsn_before = rsp->lsn;
    if (!roce_pkt_has(pkt, ROCE_HDR_AETH))
        return;
    /* A READ response or Atomic ACK must have an ACK syndrome, because a NAK or RNR NAK must be an
     * Acknowledge packet. */
    if (roce_syndrome_kind(syndrome) == ROCE_SYN_RESERVED ||
        (roce_syndrome_kind(syndrome) != ROCE_SYN_ACK && pkt->op->kind != ROCE_KIND_ACK) ||
        (roce_syndrome_kind(syndrome) == ROCE_SYN_NAK && code == ROCE_NAK_INVALID_RD_REQ)) {
        REPORT(ctx, SYNDROME_RESERVED, "aeth.syndrome", ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE,
               syndrome, .value = ROCE_VALUE_SYNDROME);
        return;
    }
    if (roce_syndrome_kind(syndrome) != ROCE_SYN_ACK)
        return;
    credits = roce_credits(code);
    ctx->result->credits = credits;
    ctx->sender->counts.credits = credits;
    if (code != ROCE_CREDIT_NONE) {
        const struct roce_conn_facts *sum = &ctx->conn->facts;
        bool srq = roce_endpoint_side(ctx->sender) == sum->cm.active_side ? sum->cm.req_srq
                                                                          : sum->cm.rep_srq;

        if (ctx->conn->facts.svc == ROCE_SVC_XRC)
            REPORT_ONCE(ctx, XRC_CREDITS, "aeth.syndrome", ROCE_CREDIT_NONE, syndrome,
                        .value = ROCE_VALUE_SYNDROME);
        else if (srq)
            REPORT_ONCE(ctx, SRQ_CREDITS, "aeth.syndrome", ROCE_CREDIT_NONE, syndrome,
                        .other = sum->cm.rep_frame, .value = ROCE_VALUE_SYNDROME);
        if (code == 0) {
            ctx->result->flags |= ROCE_AN_ZERO_CREDIT;
            if (took_receive(ctx))
                REPORT(ctx, ZERO_CREDIT, "aeth.syndrome", .value = ROCE_VALUE_NONE);
        } else if (rsp->credit_seen && code > rsp->credit_code)
            ctx->result->flags |= ROCE_AN_CREDIT_UPDATE;
        note_credit(ctx, code);
        credits = (pkt->aeth.msn + credits) & ROCE_PSN_MASK;
        if (!rsp->credit_seen || roce_diff(credits, rsp->lsn) > 0)
            rsp->lsn = credits;
        if (!rsp->credit_seen) {
            rsp->credit_ms = roce_ms(ctx->time);
            rsp->credit_cnt = 0;
        }
        rsp->credit_cnt += rsp->credit_cnt < UINT8_MAX;
        rsp->credit_seen = true;
        rsp->credit_code = code;
    } else
        rsp->credit_seen = false;
}

/* Returns the newest captured request that the MSN of the current response must count. Returns NULL
 * if there is none, or if it is a READ whose number of PSNs is a guess. Returns NULL, too, for an
 * ACK with a PSN inside a READ, because the READ is not complete yet. */
static struct roce_sent_packet *newest_counted(struct roce_ctx *ctx, struct roce_req *req)
{
    uint32_t psn = ctx->pkt->bth.psn;
    struct roce_sent_packet *e;

    if (ctx->pkt->op->kind == ROCE_KIND_ACK &&
        roce_syndrome_kind(ctx->pkt->aeth.syndrome) != ROCE_SYN_ACK)
        psn = (psn - 1) & ROCE_PSN_MASK;
    e = roce_window_get(&req->win, psn);
    if (!e || (e->flags & ROCE_SENT_PSN_CNT_GUESS))
        return NULL;
    if (ctx->pkt->op->kind == ROCE_KIND_ACK && ((psn + 1) & ROCE_PSN_MASK) != roce_sent_end(e))
        return NULL; /* the READ has later responses: it is not complete yet */
    return e;
}

/* Updates the MSN reference: an MSN and the number of messages that it counts. Returns whether the
 * reference is valid for `e`. A PSN gap makes the reference invalid, because the number of missing
 * messages is unknown. If the connection was captured from its start, the MSN counts from 0 (R102).
 * Otherwise the reference is inferred from responses. The MSN in the response to a retransmission
 * may be too high, but never too low. So the reference is the lowest difference between MSN and
 * message count. A wrong MSN is an ERROR only after MSN_REF_HITS messages confirmed the reference.
 */
static bool update_msn_ref(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e)
{
    struct roce_rsp *rsp = &ctx->sender->rsp;
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_sent_packet *oldest = roce_window_at(&req->win, 0);
    bool read = pkt->op->kind == ROCE_KIND_READ_RESP, first = false;
    /* C9-148: a responder may count a READ in the MSN from the first response to the READ on, or
     * only from the last response on */
    bool part = read && roce_sent_end(e) != ((pkt->bth.psn + 1) & ROCE_PSN_MASK);
    int32_t off;

    if (rsp->msn_ref && rsp->msn_ref_run != e->run_id)
        rsp->msn_ref = false;
    if (rsp->msn_ref && rsp->msn_ref_hits >= MSN_REF_HITS)
        return true;
    if (oldest->psn == req->base && oldest->run_id == e->run_id) {
        /* If the MSN equals the number of captured messages, the capture contains the start of the
         * connection. Of the responses to a READ, only the last one shows this: the MSN of an
         * earlier response may or may not count the READ. */
        int32_t before = roce_diff(pkt->aeth.msn, e->cum - roce_sent_number(oldest));

        if (!req->base_sure && (oldest->flags & ROCE_SENT_OFF_KNOWN)) {
            req->base_sure =
                !part && (before == 0 || (before < 0 && e->marks & ROCE_MARK_MSN_COUNTED));
            e->marks |= part && before == 0 ? ROCE_MARK_MSN_COUNTED : 0;
        }
        first = req->base_sure;
    }
    if (first) {
        rsp->msn_ref_cum = roce_sent_number(oldest);
        rsp->msn_ref_msn = 0;
        rsp->msn_ref_run = e->run_id;
        rsp->msn_ref_hits = MSN_REF_HITS;
        return rsp->msn_ref = true;
    }
    if (part)
        return rsp->msn_ref; /* the MSN may or may not count the READ, so infer no reference from
                              * it */
    if ((pkt->op->kind != ROCE_KIND_ACK && e->tries > 1) ||
        (req->una_known && roce_diff((pkt->bth.psn + 1) & ROCE_PSN_MASK, req->una) <= 0))
        return rsp->msn_ref; /* the response may answer a retransmission: its MSN then also
                              * counts messages after `e` */
    off =
        rsp->msn_ref ? roce_diff(pkt->aeth.msn, rsp->msn_ref_msn + e->cum - rsp->msn_ref_cum) : -1;
    if (off > 0)
        return true;
    if (off == 0 && e->cum == rsp->msn_ref_cum)
        return true;
    rsp->msn_ref_hits = off == 0 ? (uint8_t)(rsp->msn_ref_hits + 1) : 0;
    rsp->msn_ref = true;
    rsp->msn_ref_run = e->run_id;
    rsp->msn_ref_cum = e->cum;
    rsp->msn_ref_msn = pkt->aeth.msn;
    return true;
}

/* Returns the number of messages from the oldest unacknowledged request to `e`, inclusive. */
static uint32_t since_answer(const struct roce_req *req, const struct roce_sent_packet *e)
{
    const struct roce_window *w = &req->win;

    return w->acked < w->cnt ? e->cum - roce_sent_number(roce_window_at(w, w->acked)) : 0;
}

/* Returns whether the RNR NAK for `psn` refuses a request that needs no receive WQE, as a responder
 * with on-demand paging does. If the request is a READ, the MSN of the NAK may already count it
 * (C9-148). */
static bool is_paged(struct roce_req *req, uint32_t psn)
{
    const struct roce_sent_packet *e = roce_window_get(&req->win, psn);

    return e && !roce_opcode_uses_rq(roce_opcode(e->op));
}

/* Returns whether the previous response answers a request that is not captured yet. Then all
 * responses may be captured before their requests, for example because there are two capture
 * points. */
static bool responses_lead(const struct roce_rsp *rsp, const struct roce_req *req)
{
    return rsp->started && roce_diff(rsp->last_psn, req->nxt) >= 0;
}

void roce_check_msn(struct roce_ctx *ctx, struct roce_req *req)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_conn_facts *sum = &ctx->conn->facts;
    struct roce_sent_packet *e = newest_counted(ctx, req), *tail = roce_window_tail(&req->win);
    bool read = pkt->op->kind == ROCE_KIND_READ_RESP;
    bool nak =
        pkt->op->kind == ROCE_KIND_ACK && roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK;
    bool fresh = req->una_known && roce_diff((pkt->bth.psn + 1) & ROCE_PSN_MASK, req->una) > 0;
    bool sure;
    uint32_t low, high;
    int32_t below, above;

    if (!e || !roce_pkt_has(pkt, ROCE_HDR_AETH) || !update_msn_ref(ctx, req, e))
        return;
    sure = rsp->msn_ref_hits >= MSN_REF_HITS;
    low = rsp->msn_ref_msn + e->cum - rsp->msn_ref_cum;
    high = rsp->msn_ref_msn + tail->cum - rsp->msn_ref_cum;
    if (read && pkt->op->pos == ROCE_POS_FIRST)
        low--; /* C9-148: the MSN may count a READ at its first response, or only at its last one */
    below = roce_diff(pkt->aeth.msn, low);
    above = tail->run_id == e->run_id ? roce_diff(pkt->aeth.msn, high) : -1;
    /* The MSN in the response to a retransmission also counts later requests, some of which may be
     * missing in the capture. A higher MSN is then not certainly wrong. */
    if (above > 0)
        REPORT(ctx, MSN_TOO_HIGH, "aeth.msn", high & ROCE_PSN_MASK, pkt->aeth.msn, tail->frame,
               .rel = ROCE_REL_AT_MOST,
               .weak = !sure || read || !fresh || e->tries > 1 || sum->truncated ||
                       responses_lead(rsp, req) ||
                       roce_cold_of(roce_peer(ctx->sender))->missing_psns > 0);
    else if (below < 0) {
        if (fresh && (low & ROCE_PSN_MASK) > since_answer(req, e))
            roce_reuse_on_low_msn(ctx, roce_peer(ctx->sender), since_answer(req, e));
        REPORT(ctx, MSN, "aeth.msn", low & ROCE_PSN_MASK, pkt->aeth.msn, e->last_frame,
               .weak = !sure,
               .condition =
                   nak && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RNR ? "rnr" : NULL);
    } else if (below > 0 && nak && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RNR)
        REPORT(ctx, RNR_MSN, "aeth.msn", low & ROCE_PSN_MASK, pkt->aeth.msn, e->last_frame,
               .weak = !sure || is_paged(req, pkt->bth.psn),
               .condition = req->una_known && !fresh ? "duplicate" : NULL);
    else if (below > 0 && !read && !nak && pkt->op->kind == ROCE_KIND_ACK && fresh)
        REPORT(ctx, MSN, "aeth.msn", low & ROCE_PSN_MASK, pkt->aeth.msn, e->last_frame,
               .weak = true);
}

bool roce_msn_fits(const struct roce_rsp *rsp, const struct roce_sent_packet *e, uint32_t msn)
{
    return rsp->msn_ref && rsp->msn_ref_run == e->run_id && rsp->msn_ref_hits >= MSN_REF_HITS &&
           roce_diff(msn, rsp->msn_ref_msn + e->cum - rsp->msn_ref_cum) == 0;
}

void roce_check_accepted(struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    const struct roce_opcode *op = roce_opcode(e->op);

    roce_report(ctx, (struct roce_report){.rule = (enum roce_rule)e->bad,
                                          .field = "aeth.syndrome",
                                          .expected = ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ,
                                          .actual = roce_pkt_has(ctx->pkt, ROCE_HDR_AETH)
                                                        ? ctx->pkt->aeth.syndrome
                                                        : ROCE_SYNDROME_ACK,
                                          .other = e->last_frame,
                                          .value = ROCE_VALUE_SYNDROME,
                                          .condition = op->kind == ROCE_KIND_SEND ? "send" : NULL,
                                          /* for ATOMIC WRITE, the only evidence of this rule is
                                           * what Linux does (R126) */
                                          .weak = e->bad == ROCE_RULE_ATOMIC_ALIGN &&
                                                  op->kind == ROCE_KIND_ATOMIC_WRITE});
}
