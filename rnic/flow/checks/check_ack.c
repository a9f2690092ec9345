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

/* Returns the two responses with contradicting MSNs, or NULL if there are none. */
static struct roce_msn_doubt *msn_doubt(const struct roce_endpoint *responder)
{
    const struct roce_rsp *rsp = &responder->rsp;
    struct roce_msn_doubt *doubt =
        responder->counts.cold ? &responder->counts.cold->msn_doubt : NULL;

    return doubt && doubt->other.frame && rsp->msn_ref && rsp->msn_ref_hits == 0 &&
                   doubt->ref.msn == rsp->msn_ref_msn && doubt->ref.cum == rsp->msn_ref_cum
               ? doubt
               : NULL;
}

/* Reports that response `p` has a wrong MSN. `max`: highest MSN that the number of messages sent
 * permits. */
static void report_msn(const struct roce_ctx *ctx, const struct roce_msn_point *p,
                       uint32_t expected, uint32_t max)
{
    struct roce_ctx then = *ctx;

    then.frame = p->frame;
    then.time = p->time;
    then.result = NULL; /* the result of the current packet */
    if (roce_diff(p->msn, max) > 0)
        REPORT(&then, MSN_TOO_HIGH, "aeth.msn", max & ROCE_PSN_MASK, p->msn,
               .rel = ROCE_REL_AT_MOST, .weak = true);
    else
        REPORT(&then, MSN, "aeth.msn", expected & ROCE_PSN_MASK, p->msn, .weak = true);
}

static void report_other(const struct roce_ctx *ctx, const struct roce_msn_doubt *doubt)
{
    report_msn(ctx, &doubt->other, doubt->ref.msn + doubt->other.cum - doubt->ref.cum, doubt->max);
}

/* Reports the response that set the MSN reference. Its MSN was expected to be `expected`. It may be
 * the response to a retransmission and count later messages, but not more than the current response
 * to `e`. It cannot count the message of `e` if this was sent later. */
static void report_reference(const struct roce_ctx *ctx, const struct roce_msn_point *ref,
                             const struct roce_sent_packet *e, uint32_t expected)
{
    const int32_t off = roce_diff(ref->msn, expected);

    if (off < 0 ||
        (off > 0 && roce_diff(ref->msn, ctx->pkt->aeth.msn) >= (e->frame > ref->frame ? 0 : 1)))
        report_msn(ctx, ref, expected, ref->msn);
}

/* Returns the response that set the MSN reference. Its frame is 0 unless it is the response before
 * the current one. */
static struct roce_msn_point reference_of(const struct roce_ctx *ctx)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    const uint64_t ago = UINT64_C(1000) * (uint32_t)(roce_us(ctx->time) - rsp->last_us);
    const bool before = rsp->msn_ref && rsp->msn_ref_hits == 0 &&
                        rsp->last_msn == rsp->msn_ref_msn &&
                        roce_opcode_has(roce_opcode(rsp->last_op), ROCE_HDR_AETH);

    return (struct roce_msn_point){.frame = before ? rsp->last_frame : 0,
                                   .time = ago < ctx->time ? ctx->time - ago : 0,
                                   .msn = rsp->msn_ref_msn,
                                   .cum = rsp->msn_ref_cum};
}

/* Returns the number of messages that were captured after request `e`, or a high number if requests
 * in between were not captured. */
static int32_t messages_after(const struct roce_req *req, const struct roce_sent_packet *e)
{
    const struct roce_sent_packet *tail = roce_window_tail(&req->win);

    return tail->run_id == e->run_id ? (int32_t)(tail->cum - e->cum) : INT32_MAX / 2;
}

/* Returns whether the MSN of the current response contradicts the reference, which predicts a value
 * that is lower by `off`. A READ response or Atomic ACK may also count the `ahead` messages after
 * its request. `part`: not the last response to a READ, so that it need not count the READ. */
static bool contradicts_ref(const struct roce_ctx *ctx, int32_t off, int32_t ahead, bool part)
{
    return off < (part ? -1 : 0) || off > (ctx->pkt->op->kind == ROCE_KIND_ACK ? 0 : ahead);
}

/* Stores the current response, which contradicts the response that set the reference. The next
 * response shows which of the two is wrong. Returns whether the two were stored. */
static bool doubt_msn(struct roce_ctx *ctx, const struct roce_sent_packet *e, int32_t ahead,
                      bool part)
{
    const struct roce_msn_point ref = reference_of(ctx);
    struct roce_cold_counters *cold;

    if (!ref.frame)
        return false;
    cold = roce_cold(ctx->flow, ctx->sender);
    if (cold != ctx->sender->counts.cold)
        return false;
    cold->msn_doubt =
        (struct roce_msn_doubt){.ref = ref,
                                .other = {ctx->time, ctx->frame, ctx->pkt->aeth.msn, e->cum},
                                .max = ref.msn + e->cum - ref.cum + (uint32_t)ahead,
                                .part = part};
    return true;
}

/* Decides with the current response which of two contradicting responses is wrong, and reports it.
 * Returns whether the reference is the wrong one. */
static bool decide_msn(struct roce_ctx *ctx, const struct roce_sent_packet *e, int32_t off,
                       int32_t ahead)
{
    struct roce_msn_doubt *doubt = msn_doubt(ctx->sender);
    const uint32_t msn = ctx->pkt->aeth.msn;
    bool wrong = false;
    int32_t other;

    if (!doubt)
        return false;
    other = roce_diff(msn, doubt->other.msn + e->cum - doubt->other.cum);
    if (off != 0 && contradicts_ref(ctx, off, ahead, false) &&
        (other == 0 || (doubt->part && other == 1))) {
        report_reference(ctx, &doubt->ref, e, msn + doubt->ref.cum - e->cum);
        wrong = true;
    } else if (off == 0 || roce_diff(doubt->other.msn, doubt->max) > 0) {
        report_other(ctx, doubt);
    }
    doubt->other.frame = 0;
    return wrong;
}

/* The current response shows that the capture contains the start of the connection, before message
 * number `base`. Reports the previous response if it set another reference. */
static void check_first_msn(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                            uint32_t base)
{
    const struct roce_msn_doubt *doubt = msn_doubt(ctx->sender);
    const struct roce_msn_point ref = doubt ? doubt->ref : reference_of(ctx);

    if (ref.frame)
        report_reference(ctx, &ref, e, ref.cum - base);
}

void roce_check_msn_end(struct roce_ctx *ctx, struct roce_endpoint *responder)
{
    struct roce_msn_doubt *doubt = msn_doubt(responder);

    ctx->sender = responder;
    if (doubt && roce_diff(doubt->other.msn, doubt->max) > 0)
        report_other(ctx, doubt);
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
    int32_t off, ahead = messages_after(req, e);
    bool single, wrong;

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
        check_first_msn(ctx, e, roce_sent_number(oldest));
        rsp->msn_ref_cum = roce_sent_number(oldest);
        rsp->msn_ref_msn = 0;
        rsp->msn_ref_run = e->run_id;
        rsp->msn_ref_hits = MSN_REF_HITS;
        return rsp->msn_ref = true;
    }
    single = rsp->msn_ref && rsp->msn_ref_hits == 0;
    off =
        rsp->msn_ref ? roce_diff(pkt->aeth.msn, rsp->msn_ref_msn + e->cum - rsp->msn_ref_cum) : -1;
    if (part) /* the MSN may or may not count the READ, so infer no reference from it */
        return rsp->msn_ref && !(single && contradicts_ref(ctx, off, ahead, true) &&
                                 doubt_msn(ctx, e, ahead, true));
    if ((pkt->op->kind != ROCE_KIND_ACK && e->tries > 1) ||
        (req->una_known && roce_diff((pkt->bth.psn + 1) & ROCE_PSN_MASK, req->una) <= 0))
        return rsp->msn_ref; /* the response may answer a retransmission: its MSN then also
                              * counts messages after `e` */
    wrong = single && decide_msn(ctx, e, off, ahead);
    if (single && !wrong && contradicts_ref(ctx, off, ahead, false) &&
        doubt_msn(ctx, e, ahead, false))
        return false;
    if (off > 0 && !wrong)
        return true;
    if (off == 0 && e->cum == rsp->msn_ref_cum)
        return true;
    rsp->msn_ref_hits = off == 0 || wrong ? (uint8_t)(rsp->msn_ref_hits + 1) : 0;
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
