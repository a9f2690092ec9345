/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks requests against the responder's packets and the negotiated parameters: credits,
 * outstanding READs, retransmissions, waits. The capture may lack a response that the responder
 * sent. So a finding that depends on the absence of a response is at most WARN.
 */
#include "flow/checks/check_request.h"

#include "flow/base/counters.h"
#include "flow/base/report.h"
#include "flow/retransmit/copy.h"
#include "flow/table/conn.h"

/* Packets captured within this time (ns) after a NAK may have been in flight when the responder
 * sent the NAK. */
#define SOON_NS UINT64_C(100000000)

/* coarsest resolution that the capture clock is assumed to have, ns */
#define TICK_MOST     UINT64_C(1000000000)
#define NEAR          8u  /* number of earlier requests in which follows_read() looks for a READ */
#define RD_ATOMIC_MAX 255 /* maximum of the 8-bit CM field (R193) */
#define RETRY_MAX     7   /* maximum of the 3-bit retry count (R154) */
#define RNR_UNLIMITED 7   /* RNR retry count without limit (R157) */

static void check_reads(struct roce_ctx *ctx)
{
    const struct roce_conn_facts *sum = &ctx->conn->facts;
    struct roce_req *req = &ctx->sender->req;
    const struct roce_window *w = &req->win;
    const struct roce_sent_packet *oldest = w->acked < w->cnt ? roce_window_at(w, w->acked) : NULL;
    bool active = roce_endpoint_side(ctx->sender) == sum->cm.active_side;
    uint32_t limit;

    if (!req->una_known || ctx->conn->join_frame || req->implied_nak)
        return; /* READs may have been answered by responses that are in flight, or that were
                 * captured before the pairing */
    limit = active ? sum->cm.rep_responder_resources : sum->cm.responder_resources;
    if (!(roce_conn_cm_seen(ctx->conn) & 1u << ROCE_CM_REP))
        limit = RD_ATOMIC_MAX;
    /* Report nothing if the oldest outstanding READ is at least ROCE_MIN_TIMEOUT_NS old. It may be
     * answered already: with two capture points, its response may be captured late. */
    if (limit < RD_ATOMIC_MAX && oldest &&
        roce_since(oldest->time, ctx->time) >= ROCE_MIN_TIMEOUT_NS)
        return;
    if (req->reads_in_flight > limit && !roce_conn_has_copies(ctx))
        REPORT(ctx, RD_ATOMIC, "READs and atomics outstanding", limit, req->reads_in_flight,
               sum->cm.rep_frame, .rel = ROCE_REL_AT_MOST);
}

/* The requester is assumed to have received its credits if at least this number of consecutive
 * responses had valid credits, and if at least this time (ms) has passed since the first of these
 * responses. One response alone may be lost between the capture point and the requester. */
#define CREDITS_KNOWN_MS  10
#define CREDITS_KNOWN_CNT 3

/* Returns the number of messages by which `e` exceeds the credits: the MSN that the responder would
 * send after executing `e`, minus the credit limit `lsn`. */
static int32_t messages_over_credit(const struct roce_rsp *rsp, const struct roce_sent_packet *e,
                                    uint32_t lsn)
{
    return roce_diff(rsp->msn_ref_msn + (e->cum + !(e->flags & ROCE_SENT_ENDS)) - rsp->msn_ref_cum,
                     lsn);
}

static void check_credits(struct roce_ctx *ctx, struct roce_sent_packet *e)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    bool starts = roce_opcode_starts(ctx->pkt->op), alone;
    int32_t over;

    if (!rsp->credit_seen || !roce_opcode_uses_rq(ctx->pkt->op) || !rsp->msn_ref ||
        rsp->msn_ref_run != e->run_id)
        return;
    over = messages_over_credit(rsp, e, rsp->lsn);
    if (over >= 0 && starts)
        ctx->result->flags |= ROCE_AN_CREDITS_EXHAUSTED;
    if (over <= 0 || rsp->credit_cnt < CREDITS_KNOWN_CNT ||
        (int32_t)(roce_ms(ctx->time) - rsp->credit_ms) < CREDITS_KNOWN_MS)
        return;
    /* A requester without credits may send one packet as a probe. Its next packet must wait for the
     * acknowledgement of the probe. */
    alone = starts || ctx->pkt->op->kind != ROCE_KIND_SEND || rsp->credit_code != 0 ||
            rsp->lsn != rsp->last_msn || (req->una_known && roce_diff(req->una, e->psn) >= 0);
    if (over > 1 ? starts : !alone)
        e->marks |= ROCE_MARK_OVER_CREDIT;
}

void roce_check_over_credit(struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    struct roce_ctx then = *ctx;
    int32_t over;
    bool none;
    uint32_t earlier = rsp->last_frame < e->frame ? rsp->last_frame : 0;

    if (!rsp->credit_seen || !rsp->msn_ref || rsp->msn_ref_run != e->run_id)
        return;
    over = messages_over_credit(rsp, e, ctx->lsn_before);
    none = rsp->last_syndrome == ROCE_SYNDROME_ACK && ctx->lsn_before == rsp->last_msn;
    if (over < (roce_opcode_starts(roce_opcode(e->op)) ? 2 : 1))
        return; /* the credits were granted by a response that was captured after the request */
    then.sender = roce_peer(ctx->sender);
    then.frame = e->frame;
    then.time = e->msg_time;
    then.result = NULL;
    if (none)
        REPORT(&then, NO_CREDIT, "messages beyond the credits", 1, (uint64_t)over, earlier,
               .rel = ROCE_REL_AT_MOST);
    else
        REPORT(&then, CREDITS, "messages beyond the credits", 1, (uint64_t)over, earlier,
               .rel = ROCE_REL_AT_MOST);
}

void roce_check_new_request(struct roce_ctx *ctx, struct roce_sent_packet *e)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    uint32_t out = (req->nxt - req->una) & ROCE_PSN_MASK;

    if (ctx->conn->facts.svc == ROCE_SVC_UC || !ctx->conn->paired)
        return;
    check_reads(ctx);
    check_credits(ctx, e);
    if (req->una_known && out > 0x800000 && e->psn_cnt > ROCE_PSN_JUMP)
        REPORT(ctx, PSN_WINDOW, "PSNs outstanding", 0x800000, out, .rel = ROCE_REL_AT_MOST);
    if (rsp->fatal && roce_since(rsp->fatal_time, ctx->time) > SOON_NS)
        REPORT(ctx, REQ_AFTER_NAK, "bth.psn", rsp->fatal_psn, e->psn, rsp->fatal_frame,
               .rel = ROCE_REL_AT_MOST);
}

/* Records the frame of the first retransmission that differs from the original packet. Sets the
 * record to 0 when the first packet of a message is retransmitted unchanged. */
static void note_altered(struct roce_ctx *ctx, bool altered)
{
    if (altered != (roce_cold_of(ctx->sender)->altered_frame != 0) &&
        (altered || roce_opcode_starts(ctx->pkt->op)))
        roce_cold(ctx->flow, ctx->sender)->altered_frame = altered ? ctx->frame : 0;
}

/* Returns the condition name in known_deviations.def if the retransmission `now`, which differs
 * from its original `e`, may be a known deviation of the sender; otherwise NULL. */
static const char *differs_condition(const struct roce_req *req, const struct roce_opcode *op,
                                     const struct roce_sent_packet *e,
                                     const struct roce_sent_packet *now)
{
    if (req->shifted)
        return "empty";
    return now->op == e->op && now->va != e->va &&
                   (op->kind == ROCE_KIND_ATOMIC_WRITE || op->kind == ROCE_KIND_FLUSH)
               ? "a19"
               : NULL;
}

void roce_check_retry_same(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                           const struct roce_sent_packet *now)
{
    const struct roce_opcode *op = ctx->pkt->op;
    const char *condition;

    if (ctx->conn->facts.svc == ROCE_SVC_UC)
        return;
    note_altered(ctx, now->op != e->op || now->len != e->len);
    condition = differs_condition(&ctx->sender->req, op, e, now);
    if (now->op != e->op) {
        REPORT(ctx, RETRY_DIFFERS, "bth.opcode", e->op, now->op, e->last_frame, ROCE_VALUE_OPCODE,
               .condition = condition);
        return;
    }
    if ((roce_opcode_has(op, ROCE_HDR_RETH) || roce_opcode_has(op, ROCE_HDR_ATOMICETH)) &&
        e->dma_len != ROCE_LEN_UNKNOWN && now->dma_len != ROCE_LEN_UNKNOWN) {
        if (now->va != e->va)
            REPORT(ctx, RETRY_DIFFERS, "va", e->va, now->va, e->last_frame, ROCE_VALUE_HEX,
                   .condition = condition);
        else if (now->rkey != e->rkey)
            REPORT(ctx, RETRY_DIFFERS, "rkey", e->rkey, now->rkey, e->last_frame, ROCE_VALUE_HEX,
                   .condition = condition);
        else if (now->dma_len != e->dma_len)
            REPORT(ctx, RETRY_DIFFERS, "dma_len", e->dma_len, now->dma_len, e->last_frame,
                   .condition = condition);
    }
    if (now->len != e->len)
        REPORT(ctx, RETRY_DIFFERS, "payload length", e->len, now->len, e->last_frame,
               .condition = condition);
    else if ((now->marks & e->marks & ROCE_MARK_SAMPLED) && now->sample != e->sample)
        REPORT(ctx, PAYLOAD_CHANGED, "payload", .other = e->last_frame, .value = ROCE_VALUE_NONE);
}

/* Checks the waits of a requester if its negotiated timeout T is unknown. The waits before
 * retransmissions of one PSN must be between T and 4 T for some T. So the longest wait must not
 * exceed four times the shortest wait. */
static void check_spread(struct roce_ctx *ctx, const struct roce_sent_packet *e, uint64_t idle)
{
    struct roce_req *req = &ctx->sender->req;
    uint32_t us = (uint32_t)(idle / 1000 < UINT32_MAX ? idle / 1000 : UINT32_MAX);

    if (req->timeouts < 2 || !ctx->conn->paired)
        return;
    if (req->timeouts == 2 || us < req->timeout_least_us)
        req->timeout_least_us = us;
    if (us / 4 > req->timeout_least_us + req->timeout_least_us / 8)
        REPORT(ctx, TIMEOUT_SPREAD, "time since the request",
               (uint64_t)req->timeout_least_us * 4000, idle, e ? e->last_frame : 0, ROCE_VALUE_NS,
               ROCE_REL_AT_MOST);
}

/* Checks the wait before a retransmission by timeout against the agreed timeout `t`, ns. Does not
 * check devices with adaptive retransmission, which choose their waits themselves. */
static void check_wait(struct roce_ctx *ctx, const struct roce_sent_packet *e, uint64_t idle,
                       uint64_t t)
{
    uint64_t since = e ? roce_since(e->time, ctx->time) : idle;

    if (roce_cold_of(ctx->sender)->adaptive)
        return;
    if (idle > 4 * t + t / 8 + ctx->flow->grain)
        REPORT(ctx, TIMEOUT_RANGE, "time since the request", 4 * t, idle, e ? e->last_frame : 0,
               ROCE_VALUE_NS, ROCE_REL_AT_MOST, "late");
    else if (since + ctx->flow->grain < t - t / 8 && e && ctx->time > e->time)
        REPORT(ctx, TIMEOUT_RANGE, "time since the request", t, since, e->last_frame, ROCE_VALUE_NS,
               ROCE_REL_AT_LEAST, "early");
}

static void check_timeout(struct roce_ctx *ctx, const struct roce_sent_packet *e, uint64_t idle)
{
    uint64_t t = roce_timeout_of(ctx->sender);
    const struct roce_req *req = &ctx->sender->req;
    bool agreed = (roce_conn_cm_seen(ctx->conn) & 1u << ROCE_CM_REQ) != 0;
    uint8_t limit = agreed ? ctx->conn->facts.cm.retry_count : RETRY_MAX;

    if (req->timeouts > 1)
        ctx->flow->unanswered_hosts |= ctx->look->src_suspect;
    if (t == ROCE_NEVER_NS)
        check_spread(ctx, e, idle);
    else
        check_wait(ctx, e, idle, t);
    /* Before the first response is captured, nothing is reported unless CM messages agreed on the
     * retry count. The capture may lack RNR NAKs, after which a requester may retry without limit.
     */
    if (req->timeouts > limit && (agreed || roce_peer(ctx->sender)->rsp.started))
        REPORT(ctx, RETRY_COUNT, "repetitions", limit, req->timeouts, ctx->conn->facts.cm.req_frame,
               ROCE_VALUE_DEC, ROCE_REL_AT_MOST, limit == RETRY_MAX ? "seven" : NULL);
}

/* Returns the clock resolution (ns) that one time stamp suggests: for example, 1 ms if the time is
 * a multiple of 1 ms. The resolution of the whole capture is not used, because the capture may be
 * merged from files with different clocks. */
static uint64_t tick_of(uint64_t time)
{
    uint64_t tick = 1;

    while (tick < TICK_MOST && time % (tick * 10) == 0)
        tick *= 10;
    return tick;
}

/* Returns whether a READ or atomic is shortly before `e` in PSN order. If the response to the READ
 * or atomic is lost after the capture point, a later response makes the requester go back at once
 * (R139). */
static bool follows_read(struct roce_req *req, const struct roce_sent_packet *e)
{
    uint32_t at = roce_window_find(&req->win, e->psn);

    for (uint32_t i = 0; i < NEAR && i < at; i++)
        if (roce_opcode_is_answered(roce_opcode(roce_window_at(&req->win, at - 1 - i)->op)))
            return true;
    return false;
}

/* A timer that counts jiffies may expire up to one jiffy early: 10 ms at 100 jiffies a second. */
#define LONGEST_JIFFY_NS UINT64_C(10000000)

static void check_rnr(struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    struct roce_req *req = &ctx->sender->req;
    const struct roce_cold_counters *sum = roce_cold_of(ctx->sender);
    uint64_t waited = roce_since(rsp->rnr_time, ctx->time);
    uint64_t then = tick_of(rsp->rnr_time), now = tick_of(ctx->time);
    /* tolerance for a capture clock that is inexact or coarse, or steps back, ns */
    uint64_t slack = rsp->rnr_wait / 10 + 10000 + (then > now ? then : now);
    uint64_t timeout = roce_timeout_of(ctx->sender);
    /* If more than this time (ns) passed since the first transmission of `e`, the ACK timer, not
     * the NAK, may have caused the retransmission. */
    uint64_t quick = timeout != ROCE_NEVER_NS ? timeout : ROCE_MIN_TIMEOUT_NS;
    uint32_t agreed_frame;
    uint8_t limit = roce_rnr_retry_of(ctx->sender, &agreed_frame);

    /* Reports a wait after an RNR NAK that is too short, except in these cases: `e` may have been
     * in flight when the NAK was captured, the retransmission may have another cause, or two
     * capture points reordered packets. The ACK timer may be shorter than the CM messages say: with
     * RDMA_OPTION_ID_ACK_TIMEOUT, Linux sends the maximum of the option and the ACK delay of its
     * device. Then the finding is not certain. */
    if (waited + slack < rsp->rnr_wait && e && e->psn == rsp->rnr_psn &&
        ctx->time > rsp->rnr_time && rsp->rnr_first && e->tries == 1 &&
        roce_since(e->time, ctx->time) < quick && !follows_read(req, e) &&
        roce_since(e->time, ctx->time) + slack < rsp->rnr_wait && !roce_conn_has_copies(ctx))
        REPORT(ctx, RNR_WAIT, "time since the RNR NAK", rsp->rnr_wait, waited, rsp->rnr_frame,
               ROCE_VALUE_NS, ROCE_REL_AT_LEAST,
               .condition = rsp->rnr_wait - waited <= LONGEST_JIFFY_NS ? "jiffy" : NULL,
               .weak = !ctx->sender->saw_id || sum->out_of_order || sum->missing_psns ||
                       roce_since(e->time, ctx->time) >= ROCE_MIN_TIMEOUT_NS);
    if (roce_conn_cm_seen(ctx->conn) && limit < RNR_UNLIMITED && req->rnrs > limit)
        REPORT(ctx, RNR_COUNT, "repetitions", limit, req->rnrs, agreed_frame,
               .rel = ROCE_REL_AT_MOST);
}

void roce_check_retransmission(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                               uint64_t idle)
{
    switch (ctx->sender->req.retx.cause) {
    case ROCE_CAUSE_TIMEOUT: check_timeout(ctx, e, idle); break;
    case ROCE_CAUSE_RNR_NAK: check_rnr(ctx, e); break;
    default: break;
    }
}
