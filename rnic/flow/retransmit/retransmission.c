/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/retransmit/retransmission.h"

#include "flow/base/counters.h"
#include "flow/base/ip_id.h"
#include "flow/base/report.h"
#include "flow/retransmit/copy.h"
#include "flow/retransmit/go_back_cause.h"
#include "flow/retransmit/implied_nak.h"
#include "flow/retransmit/late_ack.h"
#include "flow/retransmit/read_stream.h"
#include "flow/retransmit/spurious.h"
#include "flow/table/conn.h"

/* A packet that fills a PSN gap later than this (ns) after the gap is a retransmission, not an
 * out-of-order packet. */
#define LATE_NS UINT64_C(10000000)
/* If a packet is captured again within this time (ns), the retransmission may have overtaken the
 * first transmission on the path: the packet captured second was then sent first. The IPv4
 * identification may show that this did not happen. */
#define LATE_COPY_NS UINT64_C(50000)
static void report_retransmission(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                                  uint32_t psn, uint64_t waited)
{
    struct roce_req *req = &ctx->sender->req;
    uint32_t frame = req->retx.trigger ? req->retx.trigger : e ? e->last_frame : 0;

    switch (req->retx.cause) {
    case ROCE_CAUSE_SEQ_NAK: REPORT(ctx, SEQ_RETRY, "bth.psn", req->nxt, psn, frame); break;
    case ROCE_CAUSE_RNR_NAK:
        REPORT(ctx, RNR_RETRY, "time since the RNR NAK", roce_peer(ctx->sender)->rsp.rnr_wait,
               waited, frame, ROCE_VALUE_NS, ROCE_REL_AT_LEAST);
        break;
    case ROCE_CAUSE_TIMEOUT:
        REPORT(ctx, TIMEOUT, "bth.psn", req->nxt, psn, frame,
               .loss = (enum roce_loss)ctx->result->loss);
        break;
    case ROCE_CAUSE_IMPLIED_NAK:
    case ROCE_CAUSE_READ_GAP: REPORT(ctx, RETRY_IMPLIED, "bth.psn", req->nxt, psn, frame); break;
    default:
        if (req->una_known && roce_diff(psn, req->una) < 0)
            REPORT(ctx, RETRY_ACKED, "bth.psn", req->nxt, psn, frame);
        else
            REPORT(ctx, RETRY_UNEXPLAINED, "bth.psn", req->nxt, psn, frame);
        break;
    }
}

/* Returns whether the current packet continues the go-back in progress, although the go-back
 * skipped PSNs before `psn`. These PSNs were acknowledged after the go-back began, or their
 * retransmissions are missing in the capture. Returns false if another cause of a retransmission is
 * visible. */
static bool continues_after_hole(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                                 uint32_t psn)
{
    const struct roce_req *req = &ctx->sender->req;
    struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    uint32_t trigger;
    enum roce_cause cause;

    if (roce_diff(psn, req->retx.next) <= 0)
        return false;
    if (req->una_known && roce_diff(psn, req->una) > 0 && !(rsp->nak && rsp->nak_psn == psn) &&
        !(rsp->rnr && rsp->rnr_psn == psn))
        return roce_silence(ctx, e) < roce_shown_timeout(ctx);
    cause = roce_go_back_cause(ctx, e, psn, roce_silence(ctx, e), &trigger);
    if (cause == ROCE_CAUSE_UNKNOWN)
        return true;
    if (cause == ROCE_CAUSE_TIMEOUT || cause == ROCE_CAUSE_RNR_NAK || !req->una_known ||
        roce_diff(psn, req->una) > 0)
        return false;
    if (rsp->nak && rsp->nak_psn == psn)
        rsp->nak = false; /* the go-back started before the PSN of this NAK, so the NAK causes no
                           * second go-back */
    return true;
}

/* Maximum number of requests in flight that are searched for READs, to limit the time. */
#define SEARCHED_MAX 256u

/* Counts the missing retransmissions of a go-back: the PSNs from `from` to `psn` - 1. Does not
 * count PSNs that were acknowledged after the go-back began, because the requester skips them. */
static void count_missing_repeats(const struct roce_ctx *ctx, uint32_t from, uint32_t psn)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_window *w = &req->win;
    int32_t missing;

    if (req->una_known && roce_diff(req->una, from) > 0)
        from = req->una;
    missing = roce_diff(psn, from);
    if (missing <= 0)
        return;
    /* A READ has several PSNs, but its retransmission is one packet. */
    for (uint32_t i = req->reads_in_flight ? roce_window_find(w, from) : w->cnt, searched = 0;
         i < w->cnt && searched < SEARCHED_MAX; i++, searched++) {
        const struct roce_sent_packet *e = roce_window_at(w, i);
        uint32_t part = roce_sent_part(e, from, psn);

        if (part == 0)
            break;
        missing -= (int32_t)part - 1;
    }
    missing -= (int32_t)roce_dropped_cnt(ctx->sender, from, (psn - from) & ROCE_PSN_MASK);
    if (missing > 0)
        roce_cold(ctx->flow, ctx->sender)->missing_repeats += (uint32_t)missing;
}

/* Counts a retransmission by timeout after a fatal NAK was captured. The retransmission shows that
 * the NAK did not arrive: a requester that received it would not retransmit. */
static void count_timeout_after_nak(const struct roce_ctx *ctx)
{
    struct roce_conn_facts *sum = &ctx->conn->facts;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;

    if (sum->end == ROCE_END_NAK && sum->end_side == roce_endpoint_side(ctx->sender) &&
        rsp->fatal && roce_since(rsp->fatal_time, ctx->time) > ROCE_MIN_TIMEOUT_NS) {
        sum->end_repeats += sum->end_repeats < UINT8_MAX;
        roce_cold(ctx->flow, ctx->sender)->refusal.last_frame = ctx->frame;
    }
}

/* Returns whether the latest transmission of the responses to READ `e` contains `psn`. */
static bool is_in_latest_responses(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                                   uint32_t psn)
{
    const struct roce_endpoint *responder = roce_peer(ctx->sender);
    uint32_t next = responder->rsp.read_nxt;
    bool reached = roce_diff(next, e->psn) < 0 || roce_diff(psn, next) < 0;

    return reached && !roce_read_gap_at(responder, psn);
}

/* Counts a go-back to atomic `e`, or into READ `e`, because the response with PSN `psn` did not
 * arrive. A timeout counts only if the go-back starts in the middle of a READ, or if the first
 * response to the READ was captured. Otherwise the request may be lost. Returns whether the go-back
 * was counted. */
static bool count_read_restart(const struct roce_ctx *ctx, struct roce_cold_counters *sum,
                               const struct roce_sent_packet *e, uint32_t psn,
                               enum roce_cause cause)
{
    bool timeout = cause == ROCE_CAUSE_TIMEOUT;
    struct roce_read_restarts *r = timeout ? &sum->read_restarts : &sum->read_gap_restarts;
    bool read = e && roce_opcode(e->op)->kind == ROCE_KIND_READ, captured;

    if (!e || !(read || (!timeout && roce_opcode_is_atomic(roce_opcode(e->op)))) ||
        (timeout && e->psn == psn && !roce_sent_has_response(e, 0)) ||
        (e->flags & ROCE_SENT_PSN_CNT_GUESS) || !ctx->conn->paired)
        return false;
    captured = read ? roce_sent_has_response(e, (psn - e->psn) & ROCE_PSN_MASK)
                    : (e->flags & ROCE_SENT_DONE) && !(e->marks & ROCE_MARK_REREQUESTED);
    if (captured && (e->marks & ROCE_MARK_RESP_LATE)) {
        r->late++;
        return true;
    }
    captured &= !read || is_in_latest_responses(ctx, e, psn);
    r->captured += captured;
    r->missing += !captured;
    if (r->frame == 0) {
        r->psn = psn;
        r->frame = ctx->frame;
    }
    return true;
}

/* Returns whether the requester retransmitted `psn`, the oldest outstanding PSN, after a sequence
 * NAK for it. */
static bool is_relost(const struct roce_ctx *ctx, uint32_t psn)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;

    return !rsp->nak && rsp->nak_frame && rsp->nak_psn == psn &&
           (!req->una_known || req->una == psn);
}

/* Returns whether the newest captured request calls for a response. */
static bool is_unanswered(const struct roce_ctx *ctx)
{
    const struct roce_sent_packet *newest = roce_window_tail(&ctx->sender->req.win);

    return newest &&
           ((newest->flags & ROCE_SENT_ACKREQ) || roce_opcode_is_answered(roce_opcode(newest->op)));
}

/* Returns whether the newest captured request is in the middle of a message. */
static bool is_unfinished(const struct roce_ctx *ctx)
{
    const struct roce_sent_packet *newest = roce_window_tail(&ctx->sender->req.win);

    return newest && !(newest->flags & ROCE_SENT_ENDS);
}

/* Returns whether no outstanding request calls for a response, although no outstanding PSN is
 * missing in the capture. */
static bool is_unasked(const struct roce_ctx *ctx)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_window *w = &req->win;

    if (!ctx->conn->paired || !req->una_known || w->acked == w->cnt || req->reads_in_flight ||
        w->cnt - w->acked > SEARCHED_MAX ||
        roce_diff(req->nxt, req->una) != (int32_t)(w->cnt - w->acked))
        return false;
    for (uint32_t i = w->acked; i < w->cnt; i++)
        if (roce_window_at(w, i)->flags & ROCE_SENT_ACKREQ)
            return false;
    return true;
}

/* Counts a timeout in the member of `sum` for the loss that preceded the timeout, as far as the
 * capture shows it. `relost` is the result of is_relost(). Returns the loss. */
static enum roce_loss count_timeout_loss(const struct roce_ctx *ctx, struct roce_cold_counters *sum,
                                         const struct roce_sent_packet *e, uint32_t psn,
                                         bool relost)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    struct roce_timeout_losses *losses = &sum->timeout_losses;
    bool nak = rsp->nak && roce_diff(psn, rsp->nak_psn) <= 0;

    sum->unheeded_naks += nak;
    if (count_read_restart(ctx, sum, e, psn, ROCE_CAUSE_TIMEOUT))
        return ROCE_LOSS_UNKNOWN;
    if (nak)
        return ROCE_LOSS_UNHEEDED;
    if (req->una_known && roce_diff(psn, req->una) < 0) {
        losses->acked++;
        return ROCE_LOSS_ACKED;
    }
    if (relost) {
        if (losses->relost++ == 0)
            losses->relost_psn = psn;
        return ROCE_LOSS_RELOST;
    }
    if (!e && ctx->conn->paired) {
        if (losses->missing++ == 0)
            losses->missing_psn = psn;
        return ROCE_LOSS_MISSING;
    }
    if (is_unanswered(ctx)) {
        losses->unanswered++;
        return ROCE_LOSS_UNANSWERED;
    }
    if (is_unfinished(ctx)) {
        losses->unfinished++;
        return ROCE_LOSS_UNFINISHED;
    }
    if (!is_unasked(ctx))
        return ROCE_LOSS_UNKNOWN;
    losses->unasked++;
    return ROCE_LOSS_UNASKED;
}

/* Recognises a requester that does not wait for the agreed timeout T (R149): its first wait is
 * shorter than 3/4 T, or two consecutive waits for one PSN are each longer than the previous wait.
 * NVIDIA NICs with adaptive retransmission behave in this way. */
static void note_wait(const struct roce_ctx *ctx, struct roce_cold_counters *sum, uint32_t psn,
                      uint64_t idle)
{
    const struct roce_req *req = &ctx->sender->req;
    uint64_t timeout = roce_timeout_of(ctx->sender);

    if (timeout != ROCE_NEVER_NS && idle < timeout - timeout / 4)
        sum->early_timeouts++;
    if (req->retry_psn != psn || req->timeouts == 0 || idle <= sum->latest_wait_ns * 4 / 3)
        sum->longer_waits = 0;
    else if (sum->longer_waits < UINT8_MAX)
        sum->longer_waits++;
    sum->latest_wait_ns = idle;
    sum->adaptive |= sum->early_timeouts || sum->longer_waits >= 2;
}

/* Returns how long the requester waited before the go-back that begins now, ns: it sent no request
 * and, if the go-back has no NAK as its cause, received no response. The sum of these waits is
 * limited to the duration of the connection, because the capture's clock may step back. */
static uint64_t waited_before(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                              enum roce_cause cause, uint64_t idle)
{
    const struct roce_conn_facts *facts = &ctx->conn->facts;
    const struct roce_cold_counters *sum = roce_cold_of(ctx->sender);
    bool nak = cause == ROCE_CAUSE_SEQ_NAK || cause == ROCE_CAUSE_RNR_NAK;
    uint64_t waited = nak ? idle : roce_silence(ctx, e);
    uint64_t left = roce_since(facts->first_time, facts->last_time);

    for (unsigned i = 0; i < ROCE_CAUSE_CNT; i++)
        left -= sum->retx[i].waited_ns < left ? sum->retx[i].waited_ns : left;
    return waited < left ? waited : left;
}

#define ROUNDS_MAX 31u /* largest value of roce_req.rounds */

/* Counts the timeouts since the latest response or new request. The requester retransmits all that
 * is unacknowledged, but the first packets of a go-back may be lost before the capture point, so
 * its first PSN varies. A new request since the go-back `before` suggests that a response was not
 * captured. */
static void count_round(struct roce_ctx *ctx, const struct roce_retransmission *before,
                        enum roce_cause cause)
{
    struct roce_req *req = &ctx->sender->req;
    const struct roce_sent_packet *newest = roce_window_tail(&req->win);

    if (roce_peer(ctx->sender)->rsp.last_frame >= before->frame ||
        (newest && newest->frame >= before->frame))
        req->rounds = 0;
    req->rounds += cause == ROCE_CAUSE_TIMEOUT && req->rounds < ROUNDS_MAX;
}

static void begin_retransmission(struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    struct roce_cold_counters *sum = roce_cold(ctx->flow, ctx->sender);
    struct roce_retransmission before = req->retx;
    uint64_t last = e && e->time > req->last_time ? e->time : req->last_time;
    uint64_t idle = roce_since(last, ctx->time), waited = 0, silent;
    uint64_t stalled = roce_since(e ? e->time : req->last_time, ctx->time);
    bool relost = is_relost(ctx, psn);
    uint32_t trigger;
    enum roce_cause cause;

    roce_reads_done_before(ctx, psn, e && e->psn != psn);
    cause = roce_go_back_cause(ctx, e, psn, roce_silence(ctx, e), &trigger);
    if (cause == ROCE_CAUSE_UNKNOWN && req->pending_cause != ROCE_CAUSE_NONE)
        /* The requester received a later response while an earlier one was missing. The gap causes
         * the go-back, even if the missing response was captured since. */
        cause = (enum roce_cause)req->pending_cause;
    req->pending_cause = ROCE_CAUSE_NONE;
    req->retx = (struct roce_retransmission){.cause = cause,
                                             .active = true,
                                             .first = psn,
                                             .frame = ctx->frame,
                                             .trigger = trigger,
                                             .id = ctx->digest->ip_id,
                                             .time = ctx->time};
    sum->retx[cause].go_backs++;
    sum->retx[cause].stalled_ns += stalled;
    silent = waited_before(ctx, e, cause, idle);
    sum->retx[cause].waited_ns += silent;
    ctx->result->waited = silent;
    if (cause == ROCE_CAUSE_TIMEOUT) {
        note_wait(ctx, sum, psn, idle);
        roce_spurious_watch(ctx, e, psn, stalled, silent, relost);
        roce_late_ack_watch(ctx, e, psn, stalled, silent);
    }
    count_round(ctx, &before, cause);
    if (req->retry_psn != psn) {
        req->retry_psn = psn;
        req->timeouts = req->rnrs = req->naks = 0;
    }
    if (cause == ROCE_CAUSE_TIMEOUT) {
        if (req->timeouts < 255)
            req->timeouts++;
        count_timeout_after_nak(ctx);
        req->naks += rsp->nak && rsp->nak_psn == psn && req->naks < 255;
        ctx->result->loss = (uint8_t)count_timeout_loss(ctx, sum, e, psn, relost);
        if (ctx->result->loss == ROCE_LOSS_UNANSWERED)
            roce_spurious_note_unanswered(ctx);
        if (sum->timeout_min_ns == 0 || idle < sum->timeout_min_ns)
            sum->timeout_min_ns = idle;
        if (idle > sum->timeout_max_ns)
            sum->timeout_max_ns = idle;
    } else if (cause == ROCE_CAUSE_RNR_NAK) {
        waited = roce_since(rsp->rnr_time, ctx->time);
        if (req->rnrs < 255)
            req->rnrs++;
        sum->rnr_advertised_ns += rsp->rnr_wait;
        sum->rnr_waited_ns += waited;
        ctx->result->rnr_waited = waited;
    } else if (cause == ROCE_CAUSE_SEQ_NAK) {
        req->naks += req->naks < 255;
        if (rsp->nak) {
            roce_count_reaction(sum, roce_since(rsp->nak_time, ctx->time));
            count_missing_repeats(ctx, rsp->nak_psn, psn);
        }
    } else if (cause == ROCE_CAUSE_READ_GAP || cause == ROCE_CAUSE_IMPLIED_NAK) {
        (void)count_read_restart(ctx, sum, e, psn, cause);
    }
    report_retransmission(ctx, e, psn, waited);
    /* A go-back to a READ or atomic is not reported. The response may be lost between the capture
     * point and the requester; then each response to a later request makes the requester go back
     * (R139). */
    if (cause == ROCE_CAUSE_UNKNOWN && before.cause == ROCE_CAUSE_SEQ_NAK && before.first == psn &&
        e && !roce_opcode_is_answered(roce_opcode(e->op)) && ctx->conn->paired &&
        (ctx->sender->saw_id || roce_since(e->time, ctx->time) >= LATE_COPY_NS) &&
        !roce_conn_has_copies(ctx))
        REPORT(ctx, NAK_ONCE, "bth.psn", req->nxt, psn, before.trigger);
    if (cause == ROCE_CAUSE_SEQ_NAK) {
        roce_rsp_obey_nak(rsp, psn);
        rsp->rnr = false;
    } else if (cause == ROCE_CAUSE_RNR_NAK || cause == ROCE_CAUSE_TIMEOUT) {
        roce_rsp_forget_naks(rsp);
        rsp->nak = rsp->rnr = false;
    }
}

/* Returns whether the current packet belongs to the latest go-back, although the capture shows
 * other packets of the requester between them, because the network reordered them. True only if no
 * other cause of a retransmission is visible, and either the go-back has skipped `psn`, or `psn` is
 * its next PSN and the requester sent a new packet before. */
static bool is_in_latest_go_back(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                                 uint32_t psn)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_retransmission *retx = &req->retx;
    uint32_t trigger;

    return retx->cause != ROCE_CAUSE_NONE && ctx->conn->paired && e &&
           e->last_frame < retx->frame && roce_diff(psn, retx->first) > 0 &&
           (roce_diff(psn, retx->next) < 0 || (psn == retx->next && !retx->active)) &&
           roce_since(req->last_time, ctx->time) < LATE_COPY_NS &&
           req->pending_cause == ROCE_CAUSE_NONE &&
           roce_go_back_cause(ctx, e, psn, roce_silence(ctx, e), &trigger) == ROCE_CAUSE_UNKNOWN;
}

/* Relation of a retransmitted packet to the latest go-back of its requester. */
enum place {
    BEGINS,    /* the packet begins a go-back */
    CONTINUES, /* the packet continues the latest go-back */
    LATE,      /* the packet belongs to the latest go-back, but a later packet of the go-back
                * overtook it */
};

/* Returns in which order the sender sent the current packet and the latest transmission of the
 * request with PSN `psn`, as roce_sent_order(). Returns 0 also if that request was not captured
 * since frame `from`. */
static int order_to(const struct roce_ctx *ctx, uint32_t psn, uint32_t from)
{
    const struct roce_sent_packet *e = roce_window_get(&ctx->sender->req.win, psn);

    return e && e->last_frame >= from ? roce_sent_order(ctx, e->ip_id, e->time) : 0;
}

/* Sets *place to the relation of the current packet, which retransmits PSN `psn`, to the latest
 * go-back, if the IPv4 identifications show it. `e` is the window entry of the PSN, or NULL.
 * Returns whether they show it. */
static bool find_place_by_id(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                             uint32_t psn, enum place *place)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_retransmission *retx = &req->retx;
    const struct roce_sent_packet *newest;
    int before;

    if (retx->cause == ROCE_CAUSE_NONE)
        return false;
    *place = LATE;
    if ((e && roce_sent_order(ctx, e->ip_id, e->time) < 0) ||
        roce_sent_order(ctx, retx->id, retx->time) < 0)
        return true;
    before = order_to(ctx, (retx->next - 1) & ROCE_PSN_MASK, retx->frame);
    if (roce_diff(psn, retx->next) < 0) {
        *place = before < 0 ? LATE : BEGINS;
        return before != 0;
    }
    if (psn != retx->next || before <= 0)
        return false;
    newest = roce_window_tail(&ctx->sender->req.win);
    *place = CONTINUES;
    if (retx->active || !newest || (int16_t)(uint16_t)(newest->ip_id - retx->id) < 0)
        return true; /* the go-back overtook the newest request */
    if (roce_sent_order(ctx, newest->ip_id, newest->time) > 0)
        *place = BEGINS;
    return true;
}

/* Returns how the current packet, which retransmits PSN `psn`, is related to the latest go-back
 * (enum place). `e` is the window entry of the PSN, or NULL. */
static enum place place_of(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                           uint32_t psn)
{
    const struct roce_retransmission *retx = &ctx->sender->req.retx;
    enum place place;

    if (find_place_by_id(ctx, e, psn, &place))
        return place;
    if (is_in_latest_go_back(ctx, e, psn))
        return psn == retx->next ? CONTINUES : LATE;
    if (retx->active && (psn == retx->next || continues_after_hole(ctx, e, psn)))
        return CONTINUES;
    return BEGINS;
}

bool roce_retransmission_step(struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn,
                              uint32_t psn_cnt)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_cold_counters *sum = roce_cold(ctx->flow, ctx->sender);
    enum place place = place_of(ctx, e, psn);

    switch (place) {
    case BEGINS: begin_retransmission(ctx, e, psn); break;
    case CONTINUES:
        req->retx.active = true;
        count_missing_repeats(ctx, req->retx.next, psn);
        break;
    case LATE:
        if (roce_diff(psn, req->retx.first) < 0)
            req->retx.first = psn;
        else
            sum->missing_repeats -= sum->missing_repeats < psn_cnt ? sum->missing_repeats : psn_cnt;
        break;
    }
    if (place != LATE)
        req->retx.next = (psn + psn_cnt) & ROCE_PSN_MASK;
    sum->retx[req->retx.cause].packets++;
    sum->retx[req->retx.cause].bytes += ctx->pkt->payload_len;
    /* If another request had this PSN before, the QP was probably reused. Later responses then do
     * not show whether earlier go-backs were spurious. */
    if (e && e->op != ctx->pkt->op->value)
        req->watched = false;
    if (req->watched)
        roce_spurious_request(ctx, psn_cnt, true);
    ctx->result->flags |= ROCE_AN_RETRANSMISSION;
    ctx->result->cause = req->retx.cause;
    ctx->result->go_back_frame = req->retx.frame;
    ctx->result->timeout = roce_timeout_of(ctx->sender);
    ctx->result->trigger_frame = req->retx.trigger;
    return place == BEGINS;
}

/* Returns the time since which PSN `psn` is missing, ns. If the capture begins with a later PSN
 * than `psn`, the result is the time of that first packet: the two packets were captured in the
 * wrong order. */
static uint64_t missing_since(const struct roce_req *req, uint32_t psn)
{
    const struct roce_sent_packet *only = req->win.cnt == 1 ? roce_window_at(&req->win, 0) : NULL;

    if (only && only->psn == req->base && only->tries == 1 && !req->base_sure && !req->una_known &&
        roce_diff(psn, req->base) < 0)
        return only->time;
    return req->gap_time;
}

bool roce_request_is_out_of_order(const struct roce_ctx *ctx, uint32_t psn,
                                  const struct roce_sent_packet *next)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    uint64_t timeout = roce_timeout_of(ctx->sender);
    uint64_t limit = timeout != ROCE_NEVER_NS && timeout / 2 < LATE_NS ? timeout / 2 : LATE_NS;

    int order = next ? roce_sent_order(ctx, next->ip_id, next->time) : 0;

    if (ctx->conn->facts.svc == ROCE_SVC_UC)
        return true;
    /* The sender sends its requests in PSN order first. So it sent the first transmission before
     * `next`, and a retransmission after `next`. */
    if (order > 0 || (order < 0 && next->tries == 1))
        return order < 0;
    /* A retransmission: the go-back that fills the gap has reached this PSN. */
    if (req->retx.active && (req->retx.next == psn || (req->retx.time >= req->gap_time &&
                                                       roce_diff(psn, req->retx.next) > 0)))
        return false;
    /* A retransmission: the requester already went back to the missing PSN, and then sent nothing
     * for a while. So its first retransmission was lost, and the current packet is the next one. */
    if (req->retx.cause != ROCE_CAUSE_NONE && req->retx.time >= req->gap_time &&
        roce_since(req->last_time, ctx->time) >= ROCE_MIN_TIMEOUT_NS)
        return false;
    if ((rsp->nak && rsp->nak_psn == psn) || (rsp->rnr && rsp->rnr_psn == psn))
        return false;
    return roce_since(missing_since(req, psn), ctx->time) < limit &&
           !roce_is_far_above_rtt(ctx, roce_silence(ctx, NULL), 500);
}

bool roce_request_is_overtaken(const struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_retransmission *retx = &req->retx;
    uint32_t trigger;
    int order = roce_sent_order(ctx, e->ip_id, e->time);

    if (order != 0 && e->tries == 1)
        return order < 0;
    if (retx->cause == ROCE_CAUSE_NONE || !ctx->conn->paired || e->tries != 1 ||
        e->frame < retx->frame || roce_diff(e->psn, retx->first) < 0 ||
        roce_diff(e->psn, retx->next) >= 0 || req->gap_time > retx->time ||
        roce_since(req->gap_time, ctx->time) >= LATE_NS)
        return false;
    if (ctx->sender->saw_id ? (int16_t)(ctx->digest->ip_id - e->ip_id) >= 0
                            : ctx->pkt->icrc != e->icrc || roce_conn_has_copies(ctx))
        return false;
    return roce_go_back_cause(ctx, e, e->psn, roce_silence(ctx, e), &trigger) == ROCE_CAUSE_UNKNOWN;
}
