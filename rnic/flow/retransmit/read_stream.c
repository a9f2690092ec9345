/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/retransmit/read_stream.h"

#include "flow/base/counters.h"
#include "flow/base/ip_id.h"

static uint32_t later_psn(uint32_t a, uint32_t b)
{
    return roce_diff(a, b) > 0 ? a : b;
}

/* Returns whether `psn` is one of the missing PSNs of the gap. */
static bool gap_has(const struct roce_read_gap *gap, uint32_t psn)
{
    return ((psn - gap->psn) & ROCE_PSN_MASK) < gap->cnt;
}

const struct roce_read_gap *roce_read_gap_at(const struct roce_endpoint *responder, uint32_t psn)
{
    const struct roce_cold_counters *cold = roce_cold_of(responder);

    for (unsigned i = 1; i <= ROCE_READ_GAPS; i++) {
        const struct roce_read_gap *gap =
            &cold->read_gap[(cold->read_gap_next - i) % ROCE_READ_GAPS];

        if (gap_has(gap, psn))
            return gap;
    }
    return NULL;
}

/* Records that responses with PSNs from `from` to `to` - 1 may be missing. Instead of a struct
 * roce_read_gap, extends the range read_old to read_old_end. */
static void add_old(struct roce_cold_counters *cold, uint32_t from, uint32_t to)
{
    if (cold->read_old == cold->read_old_end || roce_diff(from, cold->read_old_end) > ROCE_PSN_JUMP)
        cold->read_old = cold->read_old_end = from;
    if (roce_diff(from, cold->read_old) < 0)
        cold->read_old = from;
    if (roce_diff(to, cold->read_old_end) > 0)
        cold->read_old_end = to;
}

/* Records that the PSNs from gap.psn to `to` - 1 are missing. The record of the oldest gap is
 * overwritten. */
static void add_gap(struct roce_cold_counters *cold, uint32_t to, struct roce_read_gap gap)
{
    struct roce_read_gap *oldest = &cold->read_gap[cold->read_gap_next % ROCE_READ_GAPS];

    if (roce_diff(to, gap.psn) <= 0)
        return;
    if (oldest->cnt && oldest->fresh)
        add_old(cold, oldest->psn, (oldest->psn + oldest->cnt) & ROCE_PSN_MASK);
    gap.cnt = (to - gap.psn) & ROCE_PSN_MASK;
    *oldest = gap;
    cold->read_gap_next++;
}

/* Called when a response with PSN `psn` is captured. Removes `psn` from all gaps. Returns whether
 * this is the first captured response with this PSN. */
static bool fill_gaps(struct roce_cold_counters *cold, uint32_t psn)
{
    bool fresh = false;

    for (unsigned i = 0; i < ROCE_READ_GAPS; i++) {
        struct roce_read_gap *gap = &cold->read_gap[i], before = *gap;

        if (!gap_has(gap, psn))
            continue;
        fresh |= gap->fresh;
        gap->cnt -= (psn + 1 - gap->psn) & ROCE_PSN_MASK;
        gap->psn = (psn + 1) & ROCE_PSN_MASK;
        add_gap(cold, psn, before); /* if `psn` was in the middle of the gap, the PSNs before it are
                                     * another gap */
    }
    return fresh;
}

uint32_t roce_sent_part(const struct roce_sent_packet *e, uint32_t from, uint32_t to)
{
    uint32_t end = roce_sent_end(e);
    int32_t cnt = roce_diff(roce_diff(end, to) > 0 ? to : end, later_psn(e->psn, from));

    return cnt > 0 ? (uint32_t)cnt : 0;
}

/* Returns how many of the PSNs from `from` to `to` - 1 belong to READs. `again` is a go-back or
 * NULL. With a go-back, omits READs if their retransmitted request was probably lost: the capture
 * has no retransmission of the READ in the go-back, or the READ has several responses and all are
 * missing. */
static uint32_t count_read_psns(struct roce_req *req, uint32_t from, uint32_t to,
                                const struct roce_retransmission *again)
{
    struct roce_window *w = &req->win;
    uint32_t cnt = 0;

    for (uint32_t i = roce_window_find(w, from); i < w->cnt; i++) {
        const struct roce_sent_packet *e = roce_window_at(w, i);
        uint32_t part = roce_sent_part(e, from, to);

        if (part == 0)
            break;
        if (again && roce_diff(e->psn, again->first) >= 0 &&
            (e->last_frame < again->frame || (e->psn_cnt > 1 && part == e->psn_cnt)))
            continue;
        if (roce_opcode(e->op)->kind == ROCE_KIND_READ && !(e->flags & ROCE_SENT_PSN_CNT_GUESS))
            cnt += part;
    }
    return cnt;
}

/* Records that the READ responses with PSNs from `from` to `to` - 1 are missing. The PSNs after the
 * highest captured one become a separate gap, because no transmission of them was captured.
 * `passed` is stored in the member of this name of struct roce_read_gap. */
static void add_missing(struct roce_ctx *ctx, uint32_t from, uint32_t to, bool passed)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);
    uint32_t high = ctx->sender->rsp.read_high;
    struct roce_read_gap gap = {.psn = from, .frame = ctx->frame, .passed = passed};

    add_gap(cold, roce_diff(to, high) > 0 ? high : to, gap);
    gap.psn = later_psn(from, high);
    gap.fresh = true;
    add_gap(cold, to, gap);
}

/* Counts a gap from `from` to the PSN before the current READ response, which answers READ `e`. In
 * a go-back, a READ before `e` may have no response at all. Its retransmitted request was then
 * lost, so the PSNs of that READ are not counted. */
static void note_gap(struct roce_ctx *ctx, struct roce_req *req, const struct roce_sent_packet *e,
                     uint32_t from)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);
    bool again = req->retx.cause != ROCE_CAUSE_NONE && e->last_frame >= req->retx.frame;
    uint32_t missing = count_read_psns(req, from, ctx->pkt->bth.psn, again ? &req->retx : NULL);

    cold->response_gaps += missing > 0;
    cold->missing_responses += missing;
    if (roce_diff(e->psn, from) > 0)
        add_missing(ctx, from, e->psn, true);
    add_missing(ctx, later_psn(from, e->psn), ctx->pkt->bth.psn, false);
}

/* Returns whether the current response to READ `e` may be a first capture, not a repetition. Its
 * PSN is lower than the PSN of an earlier response, and no recorded gap contains the PSN. A first
 * capture is possible if `e` was transmitted once and the PSN is in the range read_old to
 * read_old_end. */
static bool may_be_fresh(const struct roce_endpoint *responder, const struct roce_sent_packet *e,
                         uint32_t psn)
{
    const struct roce_cold_counters *cold = roce_cold_of(responder);

    return e->tries == 1 && !(e->flags & ROCE_SENT_RESTARTED) &&
           roce_diff(psn, cold->read_old) >= 0 && roce_diff(psn, cold->read_old_end) < 0;
}

/* Called after a READ was restarted. Returns whether the previous READ response was late: it
 * answered the first transmission of the READ, not the restart. The current response, with PSN
 * `psn`, then continues the responses before the late one, or fills another gap. If only one PSN is
 * missing between the two, a loss after the restart is more probable. */
static bool is_after_late(const struct roce_endpoint *responder, uint32_t psn)
{
    const struct roce_cold_counters *cold = roce_cold_of(responder);

    if (!cold->read_went_back || roce_diff(psn, responder->rsp.read_nxt) <= 1)
        return false;
    if (roce_diff(psn, cold->read_back) >= 0)
        return roce_diff(psn, cold->read_back) <
               roce_diff(cold->read_back, responder->rsp.read_nxt);
    return roce_read_gap_at(responder, psn) != NULL;
}

struct roce_read_step roce_read_stream_step(struct roce_ctx *ctx, struct roce_req *req,
                                            const struct roce_sent_packet *e)
{
    struct roce_rsp *rsp = &ctx->sender->rsp;
    uint32_t psn = ctx->pkt->bth.psn, next = (psn + 1) & ROCE_PSN_MASK;
    struct roce_read_step step = {0};
    int order = 0; /* order of sending, relative to the response that set read_nxt */
    int32_t d;

    if (!rsp->read_known || roce_diff(psn, rsp->read_nxt) > ROCE_PSN_JUMP ||
        roce_diff(psn, rsp->read_nxt) < -ROCE_PSN_JUMP) {
        rsp->read_known = true;
        rsp->read_nxt = e->last_frame < ctx->conn->join_frame ? psn : e->psn;
        rsp->read_high = rsp->read_nxt;
        rsp->read_id = ctx->digest->ip_id;
        if (rsp->read_nxt != e->psn)
            add_old(roce_cold(ctx->flow, ctx->sender), e->psn, psn);
    }
    order = psn != rsp->read_nxt ? roce_sent_order(ctx, rsp->read_id, ctx->time) : 0;
    step.late = order < 0;
    if (order != 0) {
        if (ctx->sender->counts.cold)
            ctx->sender->counts.cold->read_went_back = false;
    } else if (is_after_late(ctx->sender, psn)) {
        struct roce_cold_counters *cold = ctx->sender->counts.cold;
        struct roce_sent_packet *late =
            roce_window_get(&req->win, (rsp->read_nxt - 1) & ROCE_PSN_MASK);

        if (late)
            late->marks |= ROCE_MARK_RESP_LATE;
        cold->late_responses++;
        cold->read_went_back = roce_diff(psn, cold->read_back) < 0;
        rsp->read_nxt = cold->read_went_back ? psn : cold->read_back;
    } else if (ctx->sender->counts.cold) {
        ctx->sender->counts.cold->read_went_back =
            roce_diff(psn, rsp->read_nxt) < 0 && (e->flags & ROCE_SENT_RESTARTED);
        ctx->sender->counts.cold->read_back = rsp->read_nxt;
    }
    step.expected = rsp->read_nxt;
    d = roce_diff(psn, rsp->read_nxt);
    if (d > 0 && !step.late)
        step.missing = count_read_psns(req, rsp->read_nxt, psn, NULL);
    if (step.missing)
        note_gap(ctx, req, e, rsp->read_nxt);
    if (!step.late && (d >= 0 || order > 0 || (e->flags & ROCE_SENT_RESTARTED))) {
        rsp->read_nxt = next;
        rsp->read_id = ctx->digest->ip_id;
    }
    step.repeated = roce_diff(psn, rsp->read_high) < 0;
    if (ctx->sender->counts.cold && fill_gaps(ctx->sender->counts.cold, psn))
        step.repeated = false;
    if (step.repeated && may_be_fresh(ctx->sender, e, psn))
        step.repeated = false;
    if (roce_diff(next, rsp->read_high) > 0)
        rsp->read_high = next;
    if (step.repeated) {
        struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);

        cold->repeated_responses++;
        cold->repeated_response_bytes += ctx->pkt->payload_len;
    } else {
        uint32_t bytes = (uint32_t)ctx->pkt->payload_len;

        req->win.read_bytes -= bytes < req->win.read_bytes ? bytes : req->win.read_bytes;
    }
    return step;
}
