/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responses: applies acknowledgements, NAKs, READ responses and Atomic ACKs to the requests of the
 * peer.
 */
#include "flow/response.h"

#include "flow/base/any_order.h"
#include "flow/base/counters.h"
#include "flow/base/rate.h"
#include "flow/base/report.h"
#include "flow/checks/check_ack.h"
#include "flow/checks/check_format.h"
#include "flow/checks/check_nak.h"
#include "flow/checks/check_read.h"
#include "flow/checks/check_request.h"
#include "flow/request.h"
#include "flow/retransmit/copy.h"
#include "flow/retransmit/implied_nak.h"
#include "flow/retransmit/sent_packet.h"
#include "flow/retransmit/spurious.h"
#include "flow/table/conn.h"
#include "flow/table/pair.h"
#include "flow/table/qp_reuse.h"
#include "flow/table/read_psn_count.h"

/* lowest number of measured round-trip times after which the shortest of them is used */
#define RTT_MIN 8u

/* Returns whether request `e` was captured before the analysis joined the two directions to one
 * connection. A response to `e` may then have been captured before, too, without being matched to
 * `e`. */
static bool is_before_join(const struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    return e->last_frame < ctx->conn->join_frame;
}

/* Counts a message as completed. `e` is its last request packet. If `timed`, also records the time
 * from its first packet to the current response. */
static void complete_message(struct roce_ctx *ctx, struct roce_sent_packet *e, uint64_t bytes,
                             bool timed)
{
    enum roce_oper oper = roce_oper_of(roce_opcode(e->op));
    struct roce_oper_count *sum = roce_oper_cnt(ctx->flow, roce_peer(ctx->sender), oper);
    uint64_t ns = roce_since(e->msg_time, ctx->time);

    timed = timed && !(e->marks & ROCE_MARK_UNTIMED);
    sum->completed++;
    sum->bytes += bytes;
    ctx->result->done_bytes += bytes;
    if (timed) {
        ctx->result->message_time = ns;
        roce_count_latency(ctx, roce_peer(ctx->sender), oper, ns);
    }
    roce_report_done(ctx, roce_peer(ctx->sender), e, bytes, timed ? ns : ROCE_NEVER_NS);
}

/* Counts READ `e`: its responses were captured out of order, and the requester accepted them. Does
 * not count a retransmitted READ, because its responses may belong to two transmissions and be in
 * order in each of them. */
static void note_accepted_read(struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    if (e->tries == 1)
        roce_cold(ctx->flow, roce_peer(ctx->sender))->accepted_reads++;
}

static void acknowledge_packet(struct roce_ctx *ctx, struct roce_req *req,
                               struct roce_sent_packet *e)
{
    ctx->result->acked_packets++;
    ctx->result->request_frame = e->last_frame;
    roce_note_accepted(ctx, req, e);
    roce_req_remove_in_flight(req, e);
    roce_report_link(ctx, ROCE_LINK_ACKED_IN, e->last_frame);
    if (e->bad)
        roce_check_accepted(ctx, e);
    if (e->marks & ROCE_MARK_OVER_CREDIT)
        roce_check_over_credit(ctx, e);
    if (roce_opcode_is_answered(roce_opcode(e->op))) {
        if (!(e->flags & (ROCE_SENT_DONE | ROCE_SENT_RESTARTED)) &&
            roce_sent_has_all_responses(e)) {
            e->flags |=
                ROCE_SENT_DONE; /* the requester continues without a retransmission, so it
                                 * accepted these responses although they were out of order */
            note_accepted_read(ctx, e);
            complete_message(ctx, e, e->dma_len, false);
        } else if (!(e->flags & ROCE_SENT_DONE) && !is_before_join(ctx, e) &&
                   e->dma_len != ROCE_LEN_UNKNOWN) {
            roce_implied_nak(ctx, req, e);
        }
    } else if (e->flags & ROCE_SENT_ENDS) {
        bool whole =
            e->msg_frame != 0 && (!is_before_join(ctx, e) || roce_sent_has(e, ctx->pkt->bth.psn));

        complete_message(ctx, e, roce_req_message_bytes(req, e), whole);
        req->part = 0;
    } else
        req->part = (roce_opcode_starts(roce_opcode(e->op)) ? 0 : req->part) + e->len;
}

/* Returns the number of PSNs from `from` to `to` - 1 for which no request packet was captured, not
 * even a damaged one. The requester is the peer of ctx->sender. */
static uint32_t unseen_cnt(const struct roce_ctx *ctx, uint32_t from, uint32_t to)
{
    uint32_t cnt = (uint32_t)roce_diff(to, from);

    return cnt - roce_dropped_cnt(roce_peer(ctx->sender), from, cnt);
}

/* Returns whether the request with PSN `psn` is one of the latest requests that were captured out
 * of order. */
static bool is_late_psn(const struct roce_cold_counters *cold, uint32_t psn)
{
    for (unsigned i = 0; i < ROCE_LATE_PSNS; i++)
        if (cold->late_psn[i] == psn + 1)
            return true;
    return false;
}

/* Returns whether the current response comes so soon after the latest transmission of `e` that it
 * answers an earlier one. */
static bool is_before_rtt(const struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    struct roce_hist room;
    const struct roce_hist *rtt =
        roce_times_hist(&roce_peer(ctx->sender)->times, ROCE_OPER_CNT, &room);

    return rtt && rtt->total >= RTT_MIN && roce_since(e->time, ctx->time) < rtt->min - rtt->min / 4;
}

/* The current response shows that the responder has received all packets before `upto`. If the
 * latest sequence NAK asked for one of these packets, the packet may have been late, not lost.
 * Counts the NAK in naks_for_late if no retransmission of the packet was captured since the NAK, or
 * if the response comes too soon to answer the retransmission. */
static void note_late_after_nak(const struct roce_ctx *ctx, struct roce_req *req, uint32_t upto)
{
    struct roce_rsp *rsp = &ctx->sender->rsp;
    const struct roce_retransmission *retx = &req->retx;
    const struct roce_sent_packet *e;
    bool obeyed = !rsp->nak && retx->cause == ROCE_CAUSE_SEQ_NAK && retx->first == rsp->nak_psn &&
                  retx->trigger == rsp->nak_frame;

    if (!(rsp->nak || obeyed) || rsp->nak_late || roce_diff(upto, rsp->nak_psn) <= 0 ||
        !req->una_known || roce_diff(req->una, rsp->nak_psn) > 0)
        return;
    e = roce_window_get(&req->win, rsp->nak_psn);
    if (!e || is_late_psn(roce_cold_of(roce_peer(ctx->sender)), rsp->nak_psn) ||
        !(obeyed ? is_before_rtt(ctx, e) : e->last_frame < rsp->nak_frame))
        return;
    rsp->nak_late = true;
    roce_cold(ctx->flow, roce_peer(ctx->sender))->naks_for_late++;
}

/* Marks all requests of `req` with PSNs before `upto` as acknowledged. */
static void ack_to(struct roce_ctx *ctx, struct roce_req *req, uint32_t upto)
{
    struct roce_window *w = &req->win;
    uint32_t pos = req->una, unseen = 0;
    int32_t beyond = roce_diff(upto, req->nxt);
    struct roce_sent_packet *e;

    if (beyond > ROCE_PSN_JUMP || beyond < -ROCE_PSN_JUMP * 64)
        return; /* the response belongs to another connection of the QP, or the requester never sent
                 * this PSN */
    if (req->implied_nak)
        roce_implied_nak_again(ctx, req, upto);
    note_late_after_nak(ctx, req, upto);
    if (req->una_known && roce_diff(upto, req->una) <= 0)
        return;
    if (!req->una_known)
        pos = w->cnt > w->acked ? roce_window_at(w, w->acked)->psn : upto;
    req->una = upto;
    req->una_known = true;
    req->timeouts = req->rnrs = req->naks = 0;
    while (w->acked < w->cnt) {
        e = roce_window_at(w, w->acked);
        if (roce_diff(roce_sent_end(e), upto) > 0)
            break;
        if (roce_diff(e->psn, pos) > 0)
            unseen += unseen_cnt(ctx, pos, e->psn);
        pos = roce_sent_end(e);
        w->acked++;
        acknowledge_packet(ctx, req, e);
    }
    if (w->acked < w->cnt && roce_diff(roce_window_at(w, w->acked)->psn, upto) < 0)
        upto = roce_window_at(w, w->acked)->psn; /* the ACK is for a PSN inside a READ, and the
                                                  * request of the READ was captured */
    if (roce_diff(upto, pos) > 0)
        unseen += unseen_cnt(ctx, pos, upto);
    if (unseen && !ctx->conn->facts.truncated) {
        roce_cold(ctx->flow, roce_peer(ctx->sender))->unseen_acked += unseen;
        roce_rate_hole(roce_peer(ctx->sender));
        ctx->result->flags |= ROCE_AN_ACK_UNSEEN;
        REPORT(ctx, ACK_UNSEEN, "acknowledged packets that were not captured", 0, unseen);
    }
}

/* Returns whether the latest response of `rsp` completes the request that contains its PSN: it is a
 * positive ACK, an Atomic ACK, or the last response to a READ. */
static bool is_last_complete(const struct roce_rsp *rsp)
{
    const struct roce_opcode *op = roce_opcode(rsp->last_op);

    switch (op->kind) {
    case ROCE_KIND_ACK: return roce_syndrome_kind(rsp->last_syndrome) == ROCE_SYN_ACK;
    case ROCE_KIND_ATOMIC_ACK: return true;
    case ROCE_KIND_READ_RESP: return op->pos == ROCE_POS_LAST || op->pos == ROCE_POS_ONLY;
    default: return false;
    }
}

/* Marks the requests that `responder` acknowledged before the pairing as acknowledged, and counts
 * them as completed. `end` is the argument of roce_acknowledged_before_join(). */
static void count_acknowledged(struct roce_ctx *ctx, struct roce_endpoint *responder, bool end)
{
    const struct roce_rsp *rsp = &responder->rsp;
    struct roce_endpoint *requester = roce_peer(responder);
    struct roce_req *req = &requester->req;
    struct roce_window *w = &req->win;
    uint32_t upto = rsp->last_psn;

    if (!rsp->started || !req->started || req->una_known)
        return;
    if (is_last_complete(rsp))
        upto = (upto + 1) & ROCE_PSN_MASK;
    while (w->acked < w->cnt) {
        struct roce_sent_packet *e = roce_window_at(w, w->acked);
        enum roce_oper oper = roce_oper_of(roce_opcode(e->op));
        bool answered = roce_opcode_is_answered(roce_opcode(e->op));
        struct roce_oper_count *sum;
        uint64_t bytes;

        if (roce_diff(roce_sent_end(e), upto) > 0 || (!end && e->last_frame > rsp->last_frame))
            break;
        w->acked++;
        req->una = roce_sent_end(e);
        req->una_known = true;
        req->acked_frame = e->frame > req->acked_frame ? e->frame : req->acked_frame;
        roce_req_remove_in_flight(req, e);
        if (answered ? e->dma_len == ROCE_LEN_UNKNOWN || e->tries > 1
                     : !(e->flags & ROCE_SENT_ENDS)) {
            if (!answered)
                req->part = (roce_opcode_starts(roce_opcode(e->op)) ? 0 : req->part) + e->len;
            continue;
        }
        bytes = answered ? e->dma_len : roce_req_message_bytes(req, e);
        sum = roce_oper_cnt(ctx->flow, requester, oper);
        sum->completed++;
        sum->bytes += bytes;
        if (answered)
            e->flags |= ROCE_SENT_DONE;
        else
            req->part = 0;
        roce_report_done(ctx, requester, e, bytes, ROCE_NEVER_NS);
    }
}

void roce_acknowledged_before_join(struct roce_ctx *ctx, bool end)
{
    for (unsigned i = 0; i < 2; i++)
        count_acknowledged(ctx, &ctx->conn->side[i], end);
}

/* Records the round-trip time of request packet `e`, which the current positive response
 * acknowledges. `e` may be NULL. The round-trip time of a retransmitted packet is not recorded. */
static void measure_rtt(struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    uint64_t ns;

    if (!e || e->tries != 1)
        return;
    ns = roce_since(e->time, ctx->time);
    ctx->result->rtt = ns;
    roce_count_rtt(ctx, roce_peer(ctx->sender), ns);
}

/* Records the current fatal NAK. `req` is the requester that the NAK stops, or NULL if the
 * directions are not paired yet. */
static void note_fatal_nak(struct roce_ctx *ctx, struct roce_req *req)
{
    struct roce_rsp *rsp = &ctx->sender->rsp;
    struct roce_conn_facts *sum = &ctx->conn->facts;
    const struct roce_sent_packet *e = req ? roce_window_get(&req->win, ctx->pkt->bth.psn) : NULL;
    struct roce_refusal *refusal = &roce_cold(ctx->flow, roce_peer(ctx->sender))->refusal;

    roce_cold(ctx->flow, ctx->sender)->fatal_naks++;
    rsp->fatal = true;
    rsp->fatal_psn = ctx->pkt->bth.psn;
    rsp->fatal_frame = ctx->frame;
    rsp->fatal_time = ctx->time;
    if (sum->end == ROCE_END_NAK && sum->end_side == roce_endpoint_side(roce_peer(ctx->sender))) {
        sum->end_repeats = 0; /* the responder repeats the fatal NAK, so the requester may not have
                               * received the first one: count its retransmissions from this NAK on
                               */
        if (ctx->pkt->bth.psn == sum->end_psn) {
            refusal->again += refusal->again < UINT8_MAX;
            refusal->last_frame = ctx->frame;
        }
    }
    if (sum->end != ROCE_END_OPEN)
        return;
    sum->end_repeats = 0;
    sum->end = ROCE_END_NAK;
    sum->end_side = roce_endpoint_side(roce_peer(ctx->sender));
    sum->end_syndrome = ctx->pkt->aeth.syndrome;
    sum->end_psn = ctx->pkt->bth.psn;
    sum->end_frame = ctx->frame;
    sum->end_request_frame = e ? e->last_frame : 0;
    sum->end_tries = e ? e->tries : 0;
    *refusal = (struct roce_refusal){0};
    if (e && roce_syndrome_code(sum->end_syndrome) == ROCE_NAK_REMOTE_ACCESS &&
        roce_opcode(e->op)->kind != ROCE_KIND_SEND)
        roce_key_history(roce_peer(ctx->sender), e, refusal);
}

void roce_acknowledged(struct roce_ctx *ctx, struct roce_req *req, const struct roce_sent_packet *e)
{
    uint32_t next = (ctx->pkt->bth.psn + 1) & ROCE_PSN_MASK;

    ctx->sender->counts.acks++;
    if (req->watched)
        roce_spurious_response(ctx, req);
    if (e && roce_diff(next, req->una) > 0)
        measure_rtt(ctx, e);
    if (e)
        ctx->result->request_frame = e->last_frame;
    ack_to(ctx, req, next);
}

/* Returns whether the latest go-back passed the PSN of `e`, but no packet with this PSN was
 * captured since it began. A NAK for this PSN then means that the retransmission of `e` was lost,
 * not the captured packet. `e` may be NULL. */
static bool is_skipped(const struct roce_req *req, const struct roce_sent_packet *e)
{
    const struct roce_retransmission *retx = &req->retx;

    return e && retx->cause != ROCE_CAUSE_NONE && e->last_frame < retx->frame &&
           roce_diff(e->psn, retx->first) >= 0 && roce_diff(retx->next, e->psn) > 0;
}

/* Returns whether the responder sent an RNR NAK for the request with PSN `psn`, and no
 * retransmission of this PSN was captured since. Then the request was not lost. */
static bool is_refused(const struct roce_rsp *rsp, uint32_t psn)
{
    return rsp->rnr && rsp->rnr_psn == psn;
}

/* Counts the current response, a sequence NAK. `seen`: the request with the PSN of the NAK was
 * captured with its ICRC, or acknowledged, before. */
static void count_sequence_nak(struct roce_ctx *ctx, bool seen)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);
    const bool refused = is_refused(&ctx->sender->rsp, ctx->pkt->bth.psn);

    cold->psn_naks++;
    cold->naks_after_rnr += refused;
    cold->naks_unseen += !seen && !refused;
}

static void on_ack(struct roce_ctx *ctx, struct roce_req *req)
{
    const struct roce_pkt *pkt = ctx->pkt;
    struct roce_rsp *rsp = &ctx->sender->rsp;
    uint32_t psn = pkt->bth.psn;
    uint8_t code = roce_syndrome_code(pkt->aeth.syndrome);
    const struct roce_sent_packet *e;

    switch (roce_syndrome_kind(pkt->aeth.syndrome)) {
    case ROCE_SYN_ACK:
        roce_check_ack_psn(ctx, req);
        roce_check_msn(ctx, req);
        roce_acknowledged(ctx, req, roce_window_get(&req->win, psn));
        break;
    case ROCE_SYN_RNR:
        roce_cold(ctx->flow, ctx->sender)->rnr_naks++;
        ctx->result->flags |= ROCE_AN_RNR_NAK;
        ctx->result->rnr_wait = roce_rnr_ns(code);
        e = roce_window_get(&req->win, psn);
        ctx->result->request_frame = e ? e->last_frame : 0;
        roce_check_msn(ctx, req);
        REPORT(ctx, RNR_NAK, "aeth.syndrome", .actual = pkt->aeth.syndrome,
               .value = ROCE_VALUE_NONE, .other = e ? e->last_frame : 0);
        roce_check_nak(ctx, req);
        ack_to(ctx, req, psn);
        rsp->rnr_first = !rsp->nak && !req->implied_nak && e && e->tries == 1 &&
                         !(rsp->rnr_psn == psn && rsp->rnr_frame > e->frame);
        roce_rsp_note_nak(ctx, rsp);
        break;
    case ROCE_SYN_NAK:
        ctx->result->flags |= ROCE_AN_NAK;
        e = roce_window_get(&req->win, psn);
        ctx->result->request_frame = e ? e->last_frame : 0;
        roce_check_nak(ctx, req);
        if (code == ROCE_NAK_PSN_SEQ) {
            count_sequence_nak(ctx,
                               e ? e->icrc != 0 : req->una_known && roce_diff(psn, req->una) < 0);
            REPORT(ctx, SEQ_NAK, "bth.psn", .actual = psn, .expected = psn,
                   .value = ROCE_VALUE_NONE,
                   .other = e && !is_skipped(req, e) && !is_refused(rsp, psn) ? e->last_frame : 0);
            ack_to(ctx, req, psn);
            if (is_late_psn(roce_cold_of(roce_peer(ctx->sender)), psn))
                roce_cold(ctx->flow, roce_peer(ctx->sender))->naks_for_late++;
            roce_rsp_note_nak(ctx, rsp);
            rsp->gap_nak = true;
            rsp->gap_psn = psn;
            rsp->gap_frame = ctx->frame;
        } else {
            REPORT(ctx, FATAL_NAK, "aeth.syndrome", .actual = pkt->aeth.syndrome,
                   .value = ROCE_VALUE_NONE, .other = e ? e->last_frame : 0);
            ack_to(ctx, req, psn);
            note_fatal_nak(ctx, req);
        }
        break;
    case ROCE_SYN_RESERVED: break;
    }
}

/* Processes an ACK or NAK while its direction is unpaired, so the requester that it answers is not
 * known. */
static void on_lone_ack(struct roce_ctx *ctx)
{
    uint8_t syndrome = ctx->pkt->aeth.syndrome;

    switch (roce_syndrome_kind(syndrome)) {
    case ROCE_SYN_ACK: ctx->sender->counts.acks++; break;
    case ROCE_SYN_RNR:
        roce_cold(ctx->flow, ctx->sender)->rnr_naks++;
        ctx->result->flags |= ROCE_AN_RNR_NAK;
        ctx->result->rnr_wait = roce_rnr_ns(roce_syndrome_code(syndrome));
        REPORT(ctx, RNR_NAK, "aeth.syndrome", .actual = syndrome, .value = ROCE_VALUE_NONE);
        break;
    case ROCE_SYN_NAK:
        ctx->result->flags |= ROCE_AN_NAK;
        if (roce_syndrome_code(syndrome) == ROCE_NAK_PSN_SEQ) {
            roce_cold(ctx->flow, ctx->sender)->psn_naks++;
            REPORT(ctx, SEQ_NAK, "bth.psn", .actual = ctx->pkt->bth.psn, .value = ROCE_VALUE_NONE);
        } else {
            REPORT(ctx, FATAL_NAK, "aeth.syndrome", .actual = syndrome, .value = ROCE_VALUE_NONE);
            note_fatal_nak(ctx, NULL);
        }
        break;
    case ROCE_SYN_RESERVED: break;
    }
}

/* Processes the response to an atomic, an ATOMIC WRITE or a FLUSH, which each have only one. */
static void on_small_resp(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e)
{
    ctx->result->request_frame = e->last_frame;
    ack_to(ctx, req, e->psn);
    if (!roce_response_is_stale(req, e))
        e->marks &= (uint8_t)~ROCE_MARK_REREQUESTED;
    if (e->flags & ROCE_SENT_IMPLIED)
        e->marks |= ROCE_MARK_RESP_LATE;
    if (!(e->flags & ROCE_SENT_DONE)) {
        e->flags |= ROCE_SENT_DONE;
        e->flags &= (uint8_t)~ROCE_SENT_IMPLIED;
        if (!(e->marks & ROCE_MARK_UNTIMED))
            ctx->result->response_time = roce_since(e->msg_time, ctx->time);
        measure_rtt(ctx, e);
        roce_report_link(ctx, ROCE_LINK_FIRST_RESPONSE, e->frame);
        roce_report_link(ctx, ROCE_LINK_LAST_RESPONSE, e->frame);
        complete_message(ctx, e, e->len ? e->len : 8, true);
    }
    ack_to(ctx, req, roce_sent_end(e));
}

/* Processes a READ response without a captured READ request. The PSN of a Middle or Last response
 * is not the first PSN of the READ. So the PSN counts as a PSN inside a READ, not as the PSN of a
 * missing packet. */
static void on_unseen_read_resp(struct roce_ctx *ctx, struct roce_req *req)
{
    struct roce_cold_counters *sum = roce_cold(ctx->flow, roce_peer(ctx->sender));
    uint64_t before = sum->unseen_acked;
    bool inside = ctx->pkt->op->pos == ROCE_POS_MIDDLE || ctx->pkt->op->pos == ROCE_POS_LAST;

    ack_to(ctx, req, (ctx->pkt->bth.psn + 1) & ROCE_PSN_MASK);
    if (!inside || sum->unseen_acked == before)
        return;
    sum->unseen_read_psns++;
    sum->missing_read_psns++;
}

static void on_read_resp(struct roce_ctx *ctx, struct roce_req *req)
{
    uint32_t psn = ctx->pkt->bth.psn, k;
    struct roce_sent_packet *e = roce_window_get(&req->win, psn);
    struct roce_read_step step;
    bool late;

    if (e)
        roce_read_psn_count_confirm(ctx, req, e);
    if (req->watched)
        roce_spurious_response(ctx, req);
    if (e && (roce_opcode(e->op)->kind == ROCE_KIND_ATOMIC_WRITE ||
              roce_opcode(e->op)->kind == ROCE_KIND_FLUSH)) {
        on_small_resp(ctx, req, e); /* the response to FLUSH and ATOMIC WRITE has the form of an
                                     * empty READ response (Annex A19) */
        return;
    }
    if (!e || roce_opcode(e->op)->kind != ROCE_KIND_READ || (e->flags & ROCE_SENT_PSN_CNT_GUESS)) {
        if (e && roce_opcode(e->op)->kind != ROCE_KIND_READ)
            REPORT(ctx, READ_RESP_KIND, "bth.opcode", e->op, ctx->pkt->bth.opcode, e->last_frame,
                   ROCE_VALUE_OPCODE);
        else if (e)
            ack_to(ctx, req, e->psn);
        else
            on_unseen_read_resp(ctx, req);
        return;
    }
    k = (psn - e->psn) & ROCE_PSN_MASK;
    ctx->result->request_frame = e->last_frame;
    ctx->result->msg_first_frame = e->resp_frame ? e->resp_frame : ctx->frame;
    ctx->result->msg_total = e->dma_len;
    ctx->result->msg_offset = (uint64_t)k * ctx->conn->facts.mtu;
    ctx->result->msg_bytes = ctx->result->msg_offset + ctx->pkt->payload_len;
    if (e->dma_len != ROCE_LEN_UNKNOWN) {
        ctx->result->flags |= ROCE_AN_REGION;
        ctx->result->rkey = e->rkey;
        ctx->result->va = e->va + ctx->result->msg_offset;
    }
    if (roce_pkt_has(ctx->pkt, ROCE_HDR_AETH))
        roce_check_msn(ctx, req);
    ack_to(ctx, req, e->psn);
    /* A READ response shows that all packets up to the READ arrived. */
    note_late_after_nak(ctx, req, (psn + 1) & ROCE_PSN_MASK);
    if (e->resp_high == 0 && is_before_join(ctx, e))
        e->resp_next = e->resp_high = k, e->resp_seen = k << ROCE_RESP_SEEN_BITS;
    step = roce_read_stream_step(ctx, req, e);
    roce_check_read_resp(ctx, req, e, &step);
    if (e->resp_high == 0) {
        e->resp_frame = ctx->frame;
        measure_rtt(ctx, e);
        roce_report_link(ctx, ROCE_LINK_FIRST_RESPONSE, e->frame);
    }
    if (step.missing)
        roce_rate_hole(ctx->sender);
    if (k + 1 > e->resp_high)
        e->resp_high = k + 1;
    if (!step.repeated && !(e->flags & ROCE_SENT_RESTARTED))
        e->resp_cnt++;
    roce_sent_mark_response(e, k);
    if (roce_response_is_stale(req, e))
        return;
    if (k == e->resp_next) {
        e->resp_next++;
        e->marks |= e->marks & ROCE_MARK_RESP_GAP ? ROCE_MARK_RESP_LATE : 0;
        e->marks &= (uint8_t)~ROCE_MARK_RESP_GAP; /* from this response on, the responses are in
                                                   * order again: only a later gap counts */
        if (e->flags & ROCE_SENT_RESTARTED)
            e->flags &= (uint8_t)~ROCE_SENT_IMPLIED;
    } else if (k > e->resp_next && !(e->flags & ROCE_SENT_IMPLIED)) {
        e->marks |= ROCE_MARK_RESP_GAP;
        req->pending_cause = ROCE_CAUSE_READ_GAP;
    }
    if (e->resp_next == e->psn_cnt)
        e->marks &= (uint8_t)~ROCE_MARK_REREQUESTED;
    late = (e->flags & ROCE_SENT_IMPLIED) && !(e->flags & ROCE_SENT_RESTARTED) &&
           roce_sent_has_all_responses(e);
    if ((e->resp_next < e->psn_cnt && !late) || (e->flags & ROCE_SENT_DONE))
        return;
    if (e->resp_next < e->psn_cnt)
        note_accepted_read(ctx, e);
    e->flags |= ROCE_SENT_DONE;
    e->flags &= (uint8_t)~ROCE_SENT_IMPLIED;
    if (!(e->marks & ROCE_MARK_UNTIMED))
        ctx->result->response_time = roce_since(e->msg_time, ctx->time);
    ctx->result->flags |= ROCE_AN_MSG_END;
    roce_report_link(ctx, ROCE_LINK_LAST_RESPONSE, e->frame);
    complete_message(ctx, e, e->dma_len, true);
    ack_to(ctx, req, roce_sent_end(e));
}

static void on_atomic_ack(struct roce_ctx *ctx, struct roce_req *req)
{
    uint32_t psn = ctx->pkt->bth.psn;
    struct roce_sent_packet *e = roce_window_get(&req->win, psn);

    roce_check_msn(ctx, req);
    if (req->watched)
        roce_spurious_response(ctx, req);
    if (e && (e->flags & ROCE_SENT_PSN_CNT_GUESS) && e->psn != psn)
        e = NULL; /* the READ may have fewer PSNs than guessed; this PSN then belongs to an atomic
                   * that was not captured */
    if (e) {
        roce_check_atomic_ack(ctx, req, e);
        if (roce_opcode_is_atomic(roce_opcode(e->op)))
            on_small_resp(ctx, req, e);
        return;
    }
    ack_to(ctx, req, (psn + 1) & ROCE_PSN_MASK);
}

/* Called for an ACK that equals the previous ACK of the responder. If the acknowledged request was
 * transmitted only once, records that an ACK was captured twice. */
static void note_twice(struct roce_ctx *ctx)
{
    struct roce_window *w = &roce_peer(ctx->sender)->req.win;
    const struct roce_sent_packet *e = roce_window_get(w, ctx->pkt->bth.psn);

    if (e && e->tries == 1)
        roce_cold(ctx->flow, ctx->sender)->response_twice = true;
}

/* Returns whether the response is a second capture of an earlier response
 * (roce_response_is_copy()). Otherwise, if the response is an ACK equal to the previous ACK,
 * records a duplicate ACK. */
static bool is_repeated_response(struct roce_ctx *ctx)
{
    struct roce_rsp *rsp = &ctx->sender->rsp;
    const struct roce_pkt *pkt = ctx->pkt;

    if (roce_response_is_copy(ctx))
        return true;
    if (!rsp->started || rsp->last_op != pkt->bth.opcode || rsp->last_psn != pkt->bth.psn) {
        rsp->dup_num = 0;
        return false;
    }
    if (pkt->op->kind == ROCE_KIND_ACK && roce_pkt_has(pkt, ROCE_HDR_AETH) &&
        rsp->last_msn == pkt->aeth.msn && rsp->last_syndrome == pkt->aeth.syndrome) {
        if (rsp->dup_num++ == 0)
            rsp->dup_frame = rsp->last_frame;
        ctx->result->flags |= ROCE_AN_DUPLICATE_ACK;
        ctx->result->dup_ack_num = rsp->dup_num;
        ctx->result->dup_ack_frame = rsp->dup_frame;
        note_twice(ctx);
        if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK)
            REPORT(ctx, ACK_DUPLICATE, "bth.psn", .actual = pkt->bth.psn, .value = ROCE_VALUE_NONE,
                   .other = rsp->dup_frame);
    } else
        rsp->dup_num = 0;
    return false;
}

static void note_response(struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;
    struct roce_rsp *rsp = &ctx->sender->rsp;

    rsp->started = true;
    rsp->last_psn = pkt->bth.psn;
    rsp->last_op = pkt->bth.opcode;
    rsp->last_icrc = pkt->icrc;
    rsp->last_id = ctx->digest->ip_id;
    rsp->last_frame = ctx->frame;
    if (!(ctx->result->flags & ROCE_AN_DUPLICATE_ACK) || roce_pkt_is_nak(pkt))
        rsp->last_us = roce_us(ctx->time); /* a duplicate ACK does not restart the timer */
    roce_copy_note_response(ctx);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH)) {
        rsp->last_msn = pkt->aeth.msn;
        rsp->last_syndrome = pkt->aeth.syndrome;
    }
}

/* Records how long the requester waited for the current response, if that was long. The requester
 * waits for a READ, an atomic, or a request with AckReq. If the requester retransmitted after the
 * wait, the go-back already counts the wait. */
static void note_late_response(struct roce_ctx *ctx, struct roce_req *req)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    const struct roce_sent_packet *e = roce_window_get(&req->win, ctx->pkt->bth.psn);
    uint64_t ns = roce_since(req->last_time, ctx->time);
    uint64_t since = UINT64_C(1000) * (uint32_t)(roce_us(ctx->time) - rsp->last_us);
    bool acked = e && !roce_pkt_is_nak(ctx->pkt) &&
                 roce_diff((ctx->pkt->bth.psn + 1) & ROCE_PSN_MASK, req->una) >= 0 &&
                 !(rsp->started && rsp->last_psn == ctx->pkt->bth.psn);

    ns = rsp->started && since < ns ? since : ns;
    if (acked && ns >= ROCE_LONG_WAIT_NS && e->tries == 1 && !req->retx.active &&
        (roce_opcode_is_answered(roce_opcode(e->op)) || (e->flags & ROCE_SENT_ACKREQ))) {
        roce_spread_add(&roce_cold(ctx->flow, roce_peer(ctx->sender))->response_waits, ns);
        ctx->result->waited = ns;
    }
}

void roce_response_end(struct roce_ctx *ctx, struct roce_req *req)
{
    req->late_ack = false; /* a later new request may be a reaction to this response, so it does not
                            * show that an earlier ACK arrived late */
    if (roce_since(req->last_time, ctx->time) >= ROCE_LONG_WAIT_NS)
        note_late_response(ctx, req);
    if (req->retx.next == req->nxt && ((ctx->pkt->bth.psn + 1) & ROCE_PSN_MASK) == req->nxt)
        req->maybe_reused = false; /* the requester retransmitted all requests unchanged, and they
                                    * were answered, so the QP was not reused */
    if (ctx->want_result)
        roce_req_result(ctx, req);
    note_response(ctx);
}

void roce_response(struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;
    struct roce_req *req;

    ctx->result->flags |= ROCE_AN_RESPONSE;
    if (!ctx->conn->paired) {
        uint32_t tries = ++ctx->sender->pair_tries;

        if (tries <= 32 || (tries & (tries - 1)) == 0)
            roce_pair_response(ctx, pkt->bth.psn);
        if (ctx->conn->join_frame == ctx->frame)
            roce_acknowledged_before_join(ctx, false);
    }
    ctx->sender->counts.responses++;
    if (ctx->conn->facts.svc == ROCE_SVC_UC)
        return;
    if (roce_opcode_has(pkt->op, ROCE_HDR_AETH) && !roce_pkt_has(pkt, ROCE_HDR_AETH))
        return; /* the capture cuts the packet before the AETH */
    if (is_repeated_response(ctx))
        return;
    roce_check_mtu_learn(ctx);
    roce_check_size(ctx);
    req = ctx->conn->paired ? &roce_peer(ctx->sender)->req : NULL;
    roce_pair_check_response(ctx);
    roce_check_aeth(ctx);
    if (req && req->started) {
        if (roce_reuse_is_pending(req) && roce_pkt_has(pkt, ROCE_HDR_AETH))
            roce_reuse_on_response(ctx, roce_peer(ctx->sender));
        switch (pkt->op->kind) {
        case ROCE_KIND_ACK: on_ack(ctx, req); break;
        case ROCE_KIND_READ_RESP: on_read_resp(ctx, req); break;
        case ROCE_KIND_ATOMIC_ACK: on_atomic_ack(ctx, req); break;
        default: break;
        }
        roce_response_end(ctx, req);
        return;
    }
    if (pkt->op->kind == ROCE_KIND_ACK)
        on_lone_ack(ctx);
    note_response(ctx);
}
