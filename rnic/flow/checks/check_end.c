/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* End of a connection: reports its cause and the outstanding requests. */
#include "flow/checks/check_end.h"

#include "flow/base/counters.h"
#include "flow/base/rate.h"
#include "flow/base/report.h"
#include "flow/checks/check_ack.h"
#include "flow/checks/check_cnp.h"
#include "flow/checks/check_format.h"
#include "flow/checks/check_read.h"
#include "flow/retransmit/implied_nak.h"
#include "flow/table/conn.h"

/* a request without a response for this long is reported, ns */
#define UNANSWERED_NS UINT64_C(1000000000)

/* Returns whether the peer of `side` got no response because `side` gave up before, in `frame`, for
 * the reason `end`: then its QP was in the error state, and `side` was silent. */
static bool is_earlier_end(const struct roce_conn_facts *sum, const struct roce_endpoint *side,
                           enum roce_end end, uint32_t frame)
{
    return (end == ROCE_END_RNR_EXHAUSTED || end == ROCE_END_RETRY_EXHAUSTED) &&
           (sum->end == ROCE_END_UNANSWERED || sum->end == ROCE_END_RETRY_EXHAUSTED) &&
           sum->end_side != roce_endpoint_side(side) && frame && frame < sum->end_frame;
}

/* Records that requester `side` stopped at the request with `psn`, for the reason `end`. `frame` is
 * the packet that shows this. Returns true, or false if an end of the connection was recorded
 * before. */
static bool end_at(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_end end,
                   uint32_t psn, uint32_t frame)
{
    struct roce_conn_facts *sum = &ctx->conn->facts;
    const struct roce_sent_packet *e = roce_window_get(&side->req.win, psn);
    const struct roce_rsp *rsp = &roce_peer(side)->rsp;
    bool rnr = end == ROCE_END_RNR_EXHAUSTED || end == ROCE_END_RNR_WAITING;

    if (sum->end != ROCE_END_OPEN && sum->end != ROCE_END_DISCONNECTED &&
        !is_earlier_end(sum, side, end, frame))
        return false;
    sum->end = end;
    sum->end_side = roce_endpoint_side(side);
    sum->end_psn = psn;
    sum->end_frame = frame;
    sum->end_request_frame = e ? e->last_frame : 0;
    sum->end_tries = e ? e->tries : 0;
    sum->end_repeats = rnr ? side->req.rnrs : side->req.timeouts;
    sum->end_on_nak = rsp->nak && rsp->nak_psn == psn;
    sum->end_naks = (uint8_t)(side->req.naks + sum->end_on_nak);
    sum->end_damaged = false;
    sum->end_syndrome = 0;
    sum->end_paged = rnr && e && roce_sent_is_paged(e);
    sum->end_answered = !rnr && side->req.una_known && roce_diff(psn, side->req.una) < 0;
    sum->end_waits = false;
    return true;
}

/* Records and reports that requester `side` gave up at the request with `psn`. `frame` and `time`:
 * last retransmission of the request, or last RNR NAK for it. `of`: frame of the first transmission
 * of the request, or of an RNR NAK for it. */
static void gave_up(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_end end,
                    uint32_t psn, uint32_t frame, uint64_t time, uint32_t of)
{
    struct roce_ctx then = *ctx;

    then.frame = frame ? frame : ctx->frame;
    then.time = frame ? time : ctx->time;
    if (!end_at(ctx, side, end, psn, frame) || end == ROCE_END_UNANSWERED ||
        end == ROCE_END_RNR_WAITING)
        return;
    if (end == ROCE_END_RNR_EXHAUSTED)
        REPORT(&then, RNR_EXHAUSTED, "bth.psn", .actual = psn, .value = ROCE_VALUE_NONE,
               .other = of);
    else
        REPORT(&then, RETRY_EXHAUSTED, "bth.psn", .actual = psn, .value = ROCE_VALUE_NONE,
               .other = of);
}

/* RNR retry counts of 0 to 6 are limits; 7 means unlimited (R157). A requester that retransmits one
 * request 7 times because of RNR NAKs therefore has no limit. */
#define RNR_RETRY_NONE 7

/* After an RNR NAK, a requester gave up if it sent nothing for RNR_SILENCE_NS and for
 * RNR_SILENCE_CNT times the wait that the RNR NAK advertised. */
#define RNR_SILENCE_NS  UINT64_C(50000000)
#define RNR_SILENCE_CNT 10u

/* Returns whether the requester gave up after the latest RNR NAK: it sent nothing until long after
 * the wait that the NAK advertised, and its RNR retry count is unknown or used up. */
static bool is_rnr_exhausted(const struct roce_ctx *ctx, const struct roce_rsp *rsp)
{
    const struct roce_req *req = &ctx->sender->req;
    uint64_t silence = roce_since(rsp->rnr_time, ctx->flow->last_time);
    uint32_t frame;
    uint8_t limit = roce_rnr_retry_of(ctx->sender, &frame);

    return req->rnrs < RNR_RETRY_NONE && silence > RNR_SILENCE_NS &&
           silence > RNR_SILENCE_CNT * rsp->rnr_wait &&
           (limit == ROCE_RNR_RETRY_UNKNOWN || req->rnrs >= limit);
}

/* assumed wait before a retransmission by timeout if the capture shows none, ns */
#define WAIT_NS UINT64_C(250000000)
/* If the retry count is unknown, a requester that sent nothing for this multiple of its longest
 * wait is assumed to have stopped. A lower multiple would be wrong for devices with adaptive
 * retransmission, which double their waits. */
#define SILENCE_CNT 3u

/* Returns whether the requester gave up after `retries` retransmissions of one request. `since` is
 * the time of the latest packet for that request. `wait` is its longest wait before a
 * retransmission, 0 if unknown. The result is true only if the capture continues after the time at
 * which the next retransmission was expected. If the retry count is known, the requester must also
 * have used up all retries (R154). */
static bool is_retry_exhausted(const struct roce_ctx *ctx, unsigned retries, uint64_t since,
                               uint64_t wait)
{
    const struct roce_conn_facts *sum = &ctx->conn->facts;
    bool agreed = (sum->cm.seen & 1u << ROCE_CM_REQ) != 0;
    uint64_t silence = roce_since(since, ctx->flow->last_time);

    if (wait == 0)
        wait = WAIT_NS;
    return agreed ? retries >= sum->cm.retry_count && silence > wait : silence > SILENCE_CNT * wait;
}

/* Returns whether the latest response is a sequence NAK after which the requester had no retry
 * left, by the retry count of the CM REQ: it sent nothing more, and disconnected or was silent for
 * longer than a device takes to go back. */
static bool had_no_retry(const struct roce_ctx *ctx, const struct roce_req *req,
                         const struct roce_rsp *rsp)
{
    const struct roce_conn_facts *sum = &ctx->conn->facts;
    unsigned retries = req->retry_psn == rsp->nak_psn ? req->timeouts + req->naks : 0u;

    return rsp->nak && (sum->cm.seen & 1u << ROCE_CM_REQ) && retries >= sum->cm.retry_count &&
           req->last_time <= rsp->nak_time &&
           (sum->end == ROCE_END_DISCONNECTED ||
            roce_since(rsp->nak_time, ctx->flow->last_time) > WAIT_NS);
}

/* Records that no response of the peer was captured and that the requester only retransmitted a
 * request. Does nothing if the requester sent a new request after the retransmissions: then there
 * were responses, but they were not captured. */
static void end_unanswered(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    struct roce_req *req = &side->req;
    const struct roce_sent_packet *e = roce_window_get(&req->win, req->retry_psn);
    const struct roce_sent_packet *newest = roce_window_tail(&req->win);

    if (req->timeouts >= 2 && e && newest->frame < e->last_frame)
        (void)end_at(ctx, side, ROCE_END_UNANSWERED, req->retry_psn, e->last_frame);
}

/* A requester may give up after at least DAMAGED_MIN transmissions of a packet with a wrong ICRC,
 * or after at least NAKS_MIN sequence NAKs for one packet. */
#define DAMAGED_MIN 3u
#define NAKS_MIN    3u

/* lowest number of timeouts without a response after which a requester is assumed to be stuck, if
 * its go-backs begin with different PSNs. A capture that ends during the recovery of a loss shows
 * fewer. */
#define ROUNDS_MIN 4u

/* Records that the requester gave up because every transmission of one request had a wrong ICRC,
 * and returns true. Returns false if a transmission had a right ICRC. */
static bool end_damaged(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    struct roce_conn_facts *sum = &ctx->conn->facts;
    const struct roce_req *req = &side->req;
    const struct roce_cold_counters *cold = roce_cold_of(side);
    bool stopped = ctx->conn->paired && req->una_known &&
                   is_retry_exhausted(ctx, cold->bad_tries - 1, cold->bad_last_time,
                                      roce_since(cold->bad_time, cold->bad_last_time));

    if (cold->bad_tries < DAMAGED_MIN || (req->started && req->last_time >= cold->bad_time) ||
        roce_peer(side)->rsp.last_frame > cold->bad_first || sum->end != ROCE_END_OPEN)
        return false;
    gave_up(ctx, side, stopped ? ROCE_END_RETRY_EXHAUSTED : ROCE_END_UNANSWERED, cold->bad_psn,
            cold->bad_last, cold->bad_last_time, cold->bad_first);
    sum->end_request_frame = cold->bad_last;
    sum->end_tries = (uint16_t)(cold->bad_tries < UINT8_MAX ? cold->bad_tries : UINT8_MAX);
    sum->end_repeats = (uint8_t)(sum->end_tries - 1);
    sum->end_naks = 0;
    sum->end_on_nak = false;
    sum->end_damaged = true;
    return true;
}

/* Returns whether the latest response answers an outstanding request with a reserved syndrome. */
static bool is_answer_reserved(const struct roce_req *req, const struct roce_rsp *rsp)
{
    return rsp->started && roce_opcode(rsp->last_op)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(rsp->last_syndrome) == ROCE_SYN_RESERVED &&
           roce_diff(rsp->last_psn, req->una) >= 0 && roce_diff(rsp->last_psn, req->nxt) < 0;
}

/* Returns whether the capture ends with go-backs of `side` after timeouts, and contains no response
 * and no new request after the first of them. */
static bool is_going_back(struct roce_endpoint *side)
{
    const struct roce_req *req = &side->req;
    const struct roce_sent_packet *newest = roce_window_tail(&req->win);

    return req->rounds >= ROUNDS_MIN && newest && newest->frame < req->retx.frame &&
           roce_peer(side)->rsp.last_frame < req->retx.frame;
}

/* Records that the requester retransmitted requests after timeouts, although their responses were
 * captured, and that no response followed the latest retransmissions. So the responses were lost
 * between the capture point and the requester, and then the responder stopped responding. */
static void end_answered(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    const struct roce_req *req = &side->req;
    const struct roce_sent_packet *e = roce_window_get(&side->req.win, req->retry_psn);
    const struct roce_sent_packet *newest = roce_window_tail(&req->win);
    bool unanswered = newest && newest->frame < req->retx.frame &&
                      roce_peer(side)->rsp.last_frame < req->retx.frame;

    if (!e || !unanswered || req->timeouts < 2 || req->rounds < 2)
        return;
    gave_up(
        ctx, side,
        is_retry_exhausted(ctx, req->timeouts, req->last_time, roce_cold_of(side)->timeout_max_ns)
            ? ROCE_END_RETRY_EXHAUSTED
            : ROCE_END_UNANSWERED,
        req->retry_psn, e->last_frame, e->time, e->frame);
    if (e->psn != req->retry_psn) /* the requester retransmitted only the last part of the READ */
        ctx->conn->facts.end_tries = req->timeouts;
}

/* Returns whether the oldest outstanding request `e` calls for a response, and got none for much
 * longer than the requester would wait before a retransmission. */
static bool is_long_unanswered(const struct roce_ctx *ctx, const struct roce_endpoint *side,
                               const struct roce_sent_packet *e)
{
    const struct roce_cold_counters *cold = roce_cold_of(side);
    uint64_t timeout = roce_timeout_of(side), wait = WAIT_NS;

    if (cold->timeout_max_ns * SILENCE_CNT > wait)
        wait = cold->timeout_max_ns * SILENCE_CNT;
    if (timeout != ROCE_NEVER_NS && timeout / 8 * 9 * 4 > wait)
        wait = timeout / 8 * 9 * 4; /* a timer expires after T to 4 T (R149) */
    if (roce_opcode_is_answered(roce_opcode(e->op))
            ? roce_peer(side)->rsp.last_frame > e->last_frame
            : !(e->flags & ROCE_SENT_ACKREQ))
        return false;
    return roce_since(e->time, ctx->flow->last_time) > wait &&
           roce_since(side->req.last_time, ctx->flow->last_time) > wait;
}

static void end_side(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    struct roce_endpoint *peer = roce_peer(side);
    const struct roce_req *req = &side->req;
    const struct roce_rsp *rsp = &peer->rsp;
    const struct roce_cold_counters *sum = roce_cold_of(side);
    const struct roce_sent_packet *e;
    uint64_t last = req->last_time > rsp->nak_time ? req->last_time : rsp->nak_time;
    struct roce_ctx then;

    ctx->sender = side;
    then = *ctx;
    roce_check_msn_end(&then, side);
    roce_check_migreq_end(ctx);
    roce_check_ports_end(ctx);
    roce_rate_end(ctx, side);
    roce_check_cnp_end(ctx);
    roce_check_reads_end(ctx);
    if (ctx->conn->ud || ctx->conn->facts.svc == ROCE_SVC_UC || end_damaged(ctx, side) ||
        !req->started)
        return;
    if (!ctx->conn->paired || !req->una_known) {
        end_unanswered(ctx, side);
        return;
    }
    roce_reads_done_at_end(ctx, side);
    if (roce_diff(req->nxt, req->una) <= 0) {
        end_answered(ctx, side);
        return;
    }
    e = req->win.acked < req->win.cnt ? roce_window_at(&req->win, req->win.acked) : NULL;
    if (rsp->rnr && is_rnr_exhausted(ctx, rsp))
        gave_up(ctx, side, ROCE_END_RNR_EXHAUSTED, rsp->rnr_psn, rsp->rnr_frame, rsp->rnr_time,
                rsp->rnr_frame);
    else if (rsp->rnr && req->rnrs >= 1)
        gave_up(ctx, side, ROCE_END_RNR_WAITING, rsp->rnr_psn, rsp->rnr_frame, rsp->rnr_time,
                rsp->rnr_frame);
    else if (is_answer_reserved(req, rsp)) {
        if (end_at(ctx, side, ROCE_END_RETRY_EXHAUSTED, rsp->last_psn, rsp->last_frame))
            ctx->conn->facts.end_syndrome =
                rsp->last_syndrome; /* the reserved syndrome, which rule RC-RSP-108 reports */
    } else if (req->timeouts >= 2 || req->naks >= NAKS_MIN)
        gave_up(ctx, side,
                is_retry_exhausted(ctx, req->timeouts + req->naks, last, sum->timeout_max_ns)
                    ? ROCE_END_RETRY_EXHAUSTED
                    : ROCE_END_UNANSWERED,
                req->retry_psn, e ? e->last_frame : 0, e ? e->time : 0, e ? e->frame : 0);
    else if (had_no_retry(ctx, req, rsp)) {
        e = roce_window_get(&side->req.win, rsp->nak_psn);
        gave_up(ctx, side, ROCE_END_RETRY_EXHAUSTED, rsp->nak_psn, e ? e->last_frame : 0,
                e ? e->time : 0, e ? e->frame : 0);
    } else if (e && is_going_back(side))
        gave_up(ctx, side,
                is_retry_exhausted(ctx, req->rounds, last, sum->timeout_max_ns)
                    ? ROCE_END_RETRY_EXHAUSTED
                    : ROCE_END_UNANSWERED,
                e->psn, e->last_frame, e->time, e->frame);
    else if (e && ctx->conn->facts.end == ROCE_END_OPEN && is_long_unanswered(ctx, side, e))
        ctx->conn->facts.end_waits = end_at(ctx, side, ROCE_END_UNANSWERED, e->psn, e->last_frame);
    if (ctx->conn->facts.end == ROCE_END_OPEN || ctx->conn->facts.end == ROCE_END_UNANSWERED ||
        ctx->conn->facts.end == ROCE_END_RNR_WAITING) {
        if (e && (e->flags & ROCE_SENT_ACKREQ) &&
            roce_since(e->time, ctx->flow->last_time) > UNANSWERED_NS) {
            then.frame = e->last_frame;
            then.time = e->time;
            REPORT(&then, ACK_MISSING, "bth.psn", .actual = e->psn, .value = ROCE_VALUE_NONE,
                   .other = e->frame);
        }
        REPORT(ctx, END_PENDING, "PSNs outstanding", 0, (uint64_t)roce_diff(req->nxt, req->una),
               e ? e->frame : 0);
    }
}

void roce_check_end(struct roce_ctx *ctx)
{
    struct roce_conn *conn = ctx->conn;
    bool connected = conn->facts.svc == ROCE_SVC_RC || conn->facts.svc == ROCE_SVC_XRC;

    if (connected && !conn->paired && conn->side[0].pair_ambiguous)
        REPORT(ctx, PAIR_UNKNOWN, "packets", .actual = conn->side[0].counts.packets,
               .value = ROCE_VALUE_NONE);
    else if (connected && !conn->paired && conn->side[0].counts.packets > 0)
        REPORT(ctx, ONE_SIDED, "packets", .actual = conn->side[0].counts.packets,
               .value = ROCE_VALUE_NONE);
    end_side(ctx, &conn->side[0]);
    if (!conn->self)
        end_side(ctx, &conn->side[1]);
}
