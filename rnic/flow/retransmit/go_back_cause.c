/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/retransmit/go_back_cause.h"

#include "flow/base/counters.h"
#include "flow/retransmit/copy.h"
#include "flow/retransmit/late_ack.h"
#include "flow/retransmit/read_stream.h"
#include "flow/table/conn.h"

/* ACK timeout assumed if the capture shows none, ns; most are longer */
#define USUAL_TIMEOUT_NS UINT64_C(20000000)
/* shortest wait before a retransmission that a timer may have caused, ns */
#define SHORTEST_TIMER_NS UINT64_C(100000)
/* If no packet was captured for this number of usual round-trip times, the requester's timer caused
 * the next retransmission. After a NAK, Soft-RoCE in a busy guest retransmits within 32 round-trip
 * times. */
#define FAR_ABOVE 64u
/* If the requester sends new requests for this multiple of its usual reaction time after a NAK, it
 * did not receive the NAK. */
#define STILL_SENDING 8u
/* A wait is not a reaction to a NAK if it is at least this many times the longest reaction time to
 * a NAK so far. */
#define SLOW_REACTION 4u

uint64_t roce_silence(const struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    uint64_t last = e && e->time > req->last_time ? e->time : req->last_time;
    uint64_t idle = roce_since(last, ctx->time);
    uint64_t unanswered = UINT64_C(1000) * (uint32_t)(roce_us(ctx->time) - rsp->last_us);

    return ctx->conn->paired && rsp->started && unanswered < idle ? unanswered : idle;
}

uint64_t roce_shown_timeout(const struct roce_ctx *ctx)
{
    uint64_t timeout = roce_timeout_of(ctx->sender);
    uint64_t measured = roce_cold_of(ctx->sender)->timeout_min_ns;

    if (timeout == ROCE_NEVER_NS)
        timeout = measured ? measured : USUAL_TIMEOUT_NS;
    return timeout - timeout / 4;
}

void roce_count_reaction(struct roce_cold_counters *sum, uint64_t ns)
{
    unsigned i = 0;

    while (i + 1 < ROCE_REACTIONS && ns >> i >= 1000)
        i++;
    sum->nak_reactions[i] += sum->nak_reactions[i] < UINT16_MAX;
    if (ns > sum->nak_reaction_max_ns)
        sum->nak_reaction_max_ns = ns;
}

/* Returns the time within which the requester obeyed three quarters of the sequence NAKs so far,
 * ns; 0 if it obeyed none. Ignores the longest times, because they may be timeouts that were not
 * recognised. Sets *cnt to the number of sequence NAKs that the requester obeyed. */
static uint64_t usual_reaction(const struct roce_ctx *ctx, uint32_t *cnt)
{
    const struct roce_cold_counters *sum = roce_cold_of(ctx->sender);
    uint32_t below = 0;
    uint64_t ns = 500;

    *cnt = 0;
    for (unsigned i = 0; i < ROCE_REACTIONS; i++)
        *cnt += sum->nak_reactions[i];
    for (unsigned i = 0; i < ROCE_REACTIONS && below * 4 < *cnt * 3; i++) {
        below += sum->nak_reactions[i];
        ns *= 2;
    }
    return ns < sum->nak_reaction_max_ns ? ns : sum->nak_reaction_max_ns;
}

bool roce_is_far_above_rtt(const struct roce_ctx *ctx, uint64_t idle, unsigned permille)
{
    struct roce_hist room;
    const struct roce_hist *rtt = roce_times_hist(&ctx->sender->times, ROCE_OPER_CNT, &room);
    uint32_t cnt;

    return rtt && idle >= SHORTEST_TIMER_NS &&
           idle / FAR_ABOVE >= roce_hist_quantile(rtt, permille) &&
           idle / FAR_ABOVE >= usual_reaction(ctx, &cnt);
}

/* Returns whether the requester seems to have ignored the latest sequence NAK. It retransmitted
 * soon after several earlier sequence NAKs. But after the latest one it sent new requests for a
 * long time, and then nothing for `idle` ns. */
static bool is_sending_on(const struct roce_ctx *ctx, uint64_t idle)
{
    const struct roce_req *req = &ctx->sender->req;
    uint32_t cnt;
    uint64_t reaction = usual_reaction(ctx, &cnt);
    uint64_t sending = roce_since(roce_peer(ctx->sender)->rsp.nak_time, req->last_time);

    return cnt >= 2 && idle / FAR_ABOVE >= reaction && sending / STILL_SENDING >= reaction;
}

/* Returns the shortest wait that counts as an ACK timeout, ns: three quarters of the shortest
 * timeout measured so far. Returns 0 if no timeout was measured. A timer expires after T to 4 T. So
 * a measured time below a quarter of the longest one was not a timeout, and the function uses a
 * quarter of the longest one instead. */
static uint64_t measured_timeout(const struct roce_ctx *ctx)
{
    const struct roce_cold_counters *sum = roce_cold_of(ctx->sender);
    uint64_t least = sum->timeout_max_ns / 4;

    if (sum->timeout_min_ns > least)
        least = sum->timeout_min_ns;
    return least - least / 4;
}

/* Called if the requester went back to the PSN of a captured sequence NAK, after it had sent
 * nothing for `idle` ns, and the capture does not show the agreed ACK timeout. Returns whether the
 * requester's timer caused the go-back, not the NAK. A loaded host may react to a NAK some 10 ms
 * late. So `idle` must reach the shortest timeout measured so far (measured_timeout()). If no
 * timeout was measured, `idle` must be about a usual ACK timeout or longer, and at least
 * SLOW_REACTION times the longest reaction to a NAK. `far` is the result of
 * roce_is_far_above_rtt(). */
static bool is_timer_sure(const struct roce_ctx *ctx, uint64_t idle, bool far)
{
    uint64_t measured = measured_timeout(ctx);
    uint64_t reaction = roce_cold_of(ctx->sender)->nak_reaction_max_ns;

    if (measured)
        return idle >= measured;
    return idle >= roce_shown_timeout(ctx) && (idle >= USUAL_TIMEOUT_NS || (far && reaction)) &&
           reaction <= idle / SLOW_REACTION;
}

/* Returns whether the captured sequence NAK did not reach the requester: after a NAK, the requester
 * would have gone back to `psn` long ago. A busy software requester may retransmit some
 * milliseconds after a NAK. So a shorter wait proves the loss of the NAK only if the requester
 * usually retransmits sooner, or if it sent new requests after this NAK. */
static bool is_nak_unheeded(const struct roce_ctx *ctx, uint32_t psn, uint64_t idle)
{
    const struct roce_cold_counters *sum = roce_cold_of(ctx->sender);
    bool far = roce_is_far_above_rtt(ctx, idle, 500);
    bool agreed = roce_timeout_of(ctx->sender) != ROCE_NEVER_NS;
    /* If no CM message sets the timeout, a time without packets (silence) shows a timeout only in
     * two cases: it is as long as a usual timeout; or it is far above the RTT, and the requester
     * has reacted to a sequence NAK before. */
    bool sure = agreed || idle >= USUAL_TIMEOUT_NS || (far && sum->nak_reaction_max_ns);
    bool expired = sure && idle >= roce_shown_timeout(ctx);
    bool too_slow = far && idle >= (sum->adaptive ? ROCE_MIN_TIMEOUT_NS : USUAL_TIMEOUT_NS);

    if (!agreed && !sum->adaptive && psn == roce_peer(ctx->sender)->rsp.nak_psn)
        return is_timer_sure(ctx, idle, far);
    return expired || too_slow || (idle >= ROCE_MIN_TIMEOUT_NS && is_sending_on(ctx, idle));
}

/* Returns the cause if the requester went back to READ or atomic `e`, or into the middle of READ
 * `e`, because the response with PSN `psn` is missing and a later response arrived. If the response
 * with PSN `psn` was captured, it was lost between the capture point and the requester. Returns
 * ROCE_CAUSE_UNKNOWN if the capture does not show that such a response was lost. */
static enum roce_cause lost_response_cause(const struct roce_ctx *ctx,
                                           const struct roce_sent_packet *e, uint32_t psn)
{
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    bool read = e && roce_opcode(e->op)->kind == ROCE_KIND_READ;
    bool captured;

    if (!e || !roce_opcode_is_answered(roce_opcode(e->op)) || (e->flags & ROCE_SENT_PSN_CNT_GUESS))
        return ROCE_CAUSE_UNKNOWN;
    /* Only a missing response causes a go-back into the middle of a READ. */
    if (read && e->psn != psn)
        return ROCE_CAUSE_READ_GAP;
    if (!ctx->conn->paired)
        return ROCE_CAUSE_UNKNOWN;
    captured = read ? roce_sent_has_response(e, 0)
                    : (e->flags & ROCE_SENT_DONE) && !(e->marks & ROCE_MARK_REREQUESTED);
    if (!captured || roce_diff(rsp->last_psn, psn) <= 0)
        return ROCE_CAUSE_UNKNOWN;
    return e->psn_cnt > 1 ? ROCE_CAUSE_READ_GAP : ROCE_CAUSE_IMPLIED_NAK;
}

/* Returns whether the requester's timer ran for a shorter time than the timeouts measured so far,
 * so that the timer cannot have expired. The timer started at the latest response or at the latest
 * transmission of `e`, whichever is later. If `e` is NULL, the function uses `idle` instead, the
 * time for which the requester sent nothing, ns. */
static bool is_below_measured(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                              uint64_t idle)
{
    const struct roce_cold_counters *sum = roce_cold_of(ctx->sender);
    uint64_t answered =
        UINT64_C(1000) * (uint32_t)(roce_us(ctx->time) - roce_peer(ctx->sender)->rsp.last_us);
    uint64_t ran = e ? roce_since(e->time, ctx->time) : idle;

    if (answered < ran)
        ran = answered;
    return roce_timeout_of(ctx->sender) == ROCE_NEVER_NS && !sum->adaptive && sum->timeout_min_ns &&
           ran < roce_shown_timeout(ctx);
}

/* Returns whether a retransmission of `e` sooner than the agreed timeout was caused by the
 * requester's timer, because no NAK or response can have caused it. Devices with adaptive
 * retransmission retransmit early. `e` may be NULL. */
static bool is_early_timeout(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                             uint32_t psn, uint64_t idle)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_endpoint *peer = roce_peer(ctx->sender);
    bool again = req->retry_psn == psn && req->timeouts > 0;
    bool lost = lost_response_cause(ctx, e, psn) != ROCE_CAUSE_UNKNOWN;

    if (!ctx->conn->paired || (roce_opcode_uses_rq(ctx->pkt->op) && roce_cold_of(peer)->rnr_naks) ||
        is_below_measured(ctx, e, idle))
        return false;
    /* If a response was lost, only a later response shows the loss to the requester. The later
     * response may be slow. So the wait must be far above the slowest round trip, not only above
     * the usual one. */
    if (roce_is_far_above_rtt(ctx, idle, lost ? 1000 : 500))
        return true;
    if (roce_timeout_of(ctx->sender) == ROCE_NEVER_NS || idle < ROCE_MIN_TIMEOUT_NS || !e)
        return false;
    /* A NAK that the capture lacks may be the cause, except in two cases. If `e` is the newest
     * request, the responder cannot have detected a gap. If PSN `psn` is not later than the
     * captured responses, a missing NAK is improbable. */
    return again || roce_sent_end(e) == req->nxt ||
           (!lost && (req->una_known ? roce_diff(psn, req->una) <= 0 : !peer->rsp.started));
}

/* Returns whether the latest sequence NAK caused the go-back to `psn`, although the NAK was
 * recorded as the cause of the previous go-back. Returns true if the previous go-back began at a
 * lower PSN than the PSN of the NAK: then an earlier NAK caused the previous go-back. */
static bool is_second_nak(const struct roce_ctx *ctx, uint32_t psn)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;

    return req->retx.cause == ROCE_CAUSE_SEQ_NAK && req->retx.trigger == rsp->nak_frame &&
           rsp->nak_psn == psn && roce_diff(req->retx.first, psn) < 0 &&
           (!req->una_known || roce_diff(req->una, psn) <= 0);
}

enum roce_cause roce_go_back_cause(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                                   uint32_t psn, uint64_t idle, uint32_t *trigger)
{
    const struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    const struct roce_read_gap *gap = roce_read_gap_at(roce_peer(ctx->sender), psn);
    uint64_t timeout = roce_timeout_of(ctx->sender);
    uint64_t slow = timeout != ROCE_NEVER_NS ? timeout - timeout / 4 : ROCE_MIN_TIMEOUT_NS;
    bool open = roce_rsp_nak_is_open(rsp, psn);
    bool rnr = rsp->rnr, nak = rsp->nak || open;
    bool missing =
        gap || (e && ((e->flags & ROCE_SENT_IMPLIED) || (e->marks & ROCE_MARK_RESP_GAP)));

    *trigger = 0;
    if (nak && is_nak_unheeded(ctx, psn, idle))
        nak = false;
    /* Ignore an obsolete NAK: the request with its PSN was retransmitted and acknowledged since. */
    if (nak && req->una_known && roce_diff(req->una, rsp->nak_psn) > 0 && !open)
        nak = false;
    /* If there is a sequence NAK and an RNR NAK, and the requester waited for a shorter time than
     * the RNR NAK demands, it reacted to the sequence NAK. */
    if (rnr && nak && roce_since(rsp->rnr_time, ctx->time) < rsp->rnr_wait / 2)
        rnr = false;
    /* If the go-back starts before the PSN of the NAK, at a PSN without a response, the missing
     * response is the cause, not the NAK. */
    if (missing && roce_diff(psn, rsp->nak_psn) < 0)
        nak = false;
    if (missing && roce_diff(psn, rsp->rnr_psn) < 0 &&
        roce_since(rsp->rnr_time, ctx->time) < rsp->rnr_wait / 2)
        rnr = false;
    if (rnr) {
        *trigger = rsp->rnr_frame;
        return ROCE_CAUSE_RNR_NAK;
    }
    /* The sequence NAK is the cause even if the go-back seems to start after the PSN of the NAK:
     * its first retransmissions were lost before the capture point. */
    if (nak && (roce_since(rsp->nak_time, ctx->time) < slow || idle < slow ||
                roce_diff(psn, rsp->nak_psn) >= 0)) {
        *trigger = rsp->nak_frame;
        return ROCE_CAUSE_SEQ_NAK;
    }
    /* An ACK of `e` was captured, but reached the requester too late. So the requester's timer
     * started at the latest transmission of `e`. */
    if (!missing && req->pending_cause == ROCE_CAUSE_NONE && roce_late_ack_covers(ctx, e, psn))
        idle = roce_since(e->time, ctx->time);
    if (idle >= (missing ? roce_shown_timeout(ctx) : slow))
        return ROCE_CAUSE_TIMEOUT;
    if (gap)
        *trigger = gap->frame;
    if (e && (e->marks & ROCE_MARK_RESP_GAP)) /* the missing READ response is the first cause, even
                                               * if an implied NAK followed */
        return ROCE_CAUSE_READ_GAP;
    if ((e && (e->flags & ROCE_SENT_IMPLIED)) || (gap && gap->passed))
        return ROCE_CAUSE_IMPLIED_NAK;
    if (gap)
        return ROCE_CAUSE_READ_GAP;
    if (req->pending_cause != ROCE_CAUSE_NONE)
        return ROCE_CAUSE_UNKNOWN; /* A captured response explains this go-back. Its cause is in
                                    * pending_cause, and the caller uses that cause. */
    if (is_second_nak(ctx, psn)) {
        *trigger = rsp->nak_frame;
        return ROCE_CAUSE_SEQ_NAK;
    }
    if (is_early_timeout(ctx, e, psn, idle))
        return ROCE_CAUSE_TIMEOUT;
    return lost_response_cause(ctx, e, psn);
}
