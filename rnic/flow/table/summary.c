/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/summary.h"

#include <assert.h>
#include <string.h>
#include "flow/check.h"

#define UNANSWERED_NS UINT64_C(1000000000) /* long enough to say that no answer came */

const char *roce_cause_name(enum roce_cause cause)
{
    static const char *const names[ROCE_CAUSE_CNT] = {
        "none",        "sequence NAK",          "RNR NAK", "timeout",
        "implied NAK", "READ response missing", "unknown"};

    assert(cause < ROCE_CAUSE_CNT);
    return names[cause];
}

const char *roce_oper_name(enum roce_oper oper)
{
    static const char *const names[ROCE_OPER_CNT] = {"SEND", "WRITE", "READ", "ATOMIC", "other"};

    assert(oper < ROCE_OPER_CNT);
    return names[oper];
}

const char *roce_pairing_name(enum roce_pairing pairing)
{
    static const char *const names[ROCE_PAIRED_CNT] = {
        "", "CM", "QPNs", "source ports", "itself", "PSNs", "MSNs", "one source port", "hosts"};

    assert(pairing < ROCE_PAIRED_CNT);
    return names[pairing];
}

const char *roce_end_name(enum roce_end end)
{
    switch (end) {
    case ROCE_END_OPEN: return "open";
    case ROCE_END_DISCONNECTED: return "disconnected";
    case ROCE_END_REJECTED: return "rejected";
    case ROCE_END_NAK: return "stopped by a NAK";
    case ROCE_END_RNR_EXHAUSTED: return "gave up after RNR NAKs";
    case ROCE_END_RETRY_EXHAUSTED: return "gave up: nothing answered";
    case ROCE_END_UNANSWERED: return "no answer was captured";
    case ROCE_END_RNR_WAITING: return "waits for a receive";
    }
    return "";
}

const char *roce_cnp_end_name(enum roce_cnp_end end)
{
    switch (end) {
    case ROCE_CNP_OPEN: return "open";
    case ROCE_CNP_RECOVERED: return "recovered";
    case ROCE_CNP_QUIET: return "quiet";
    case ROCE_CNP_IDLE: return "idle";
    }
    return "";
}

/* ---- counts ------------------------------------------------------------------------------------
 */

const struct roce_cold_counters *roce_cold_of(const struct roce_endpoint *side)
{
    static const struct roce_cold_counters none;

    return side->counts.cold ? side->counts.cold : &none;
}

struct roce_cold_counters *roce_cold(struct roce_flow *flow, struct roce_endpoint *side)
{
    if (!side->counts.cold)
        side->counts.cold = roce_mem_need(&flow->mem, sizeof(*side->counts.cold));
    return side->counts.cold ? side->counts.cold : &flow->lost_cold;
}

struct roce_oper_count *roce_oper_cnt(struct roce_flow *flow, struct roce_endpoint *side,
                                      enum roce_oper oper)
{
    if (!side->counts.oper)
        side->counts.oper = roce_mem_need(&flow->mem, ROCE_OPER_CNT * sizeof(*side->counts.oper));
    return side->counts.oper ? &side->counts.oper[oper] : &flow->lost_oper;
}

static void fill_side(const struct roce_endpoint *side, struct roce_hist *room,
                      struct roce_endpoint_summary *out)
{
    const struct roce_counts *sum = &side->counts;
    const struct roce_cold_counters *cold = roce_cold_of(side);

    *out = (struct roce_endpoint_summary){
        .qpn = side->qpn,
        .first_psn = sum->first_psn,
        .first_psn_sure = side->req.base_sure,
        .udp_sport = sum->udp_sport,
        .packets = sum->packets,
        .bytes = sum->bytes,
        .payload_sent = sum->payload_sent,
        .responses = sum->responses,
        .acks = sum->acks,
        .missing_psns = cold->missing_psns,
        .unseen_acked = cold->unseen_acked,
        .out_of_order = cold->out_of_order,
        .copies = cold->copies,
        .duplicates = cold->duplicates,
        .psn_naks = cold->psn_naks,
        .rnr_naks = cold->rnr_naks,
        .rnr_paged = cold->rnr_paged,
        .fatal_naks = cold->fatal_naks,
        .late_responses = cold->late_responses,
        .bad_icrc = cold->bad_icrc,
        .malformed = cold->malformed,
        .ack_rtt = roce_times_hist(&side->times, ROCE_OPER_CNT, &room[ROCE_OPER_CNT]),
        .rnr_advertised_ns = cold->rnr_advertised_ns,
        .rnr_waited_ns = cold->rnr_waited_ns,
        .timeout_min_ns = cold->timeout_min_ns,
        .timeout_max_ns = cold->timeout_max_ns,
        .credits = sum->credits,
        .max_psns_in_flight = sum->max_psns_in_flight,
        .max_reads_in_flight = sum->max_reads_in_flight,
        .max_bytes_in_flight = sum->max_bytes_in_flight,
        .ce_marked = cold->ce_marked,
        .cnps = cold->cnps,
        .cnps_unasked = cold->cnps_unasked,
        .cnp_gap_min_ns = cold->cnp_gap_min_ns,
        .cnp_gap_ns = cold->cnp_gap_ns,
        .cnp_delay_ns = cold->cnp_delay_ns,
        .cnp = cold->cnp,
        .becn = cold->becn,
        .fecn = cold->fecn,
        .region_cnt = sum->region_cnt,
        .region_more = sum->region_more,
        .region = side->region,
    };
    memcpy(out->addr, side->key.src, 16);
    memcpy(out->retx, cold->retx, sizeof(out->retx));
    for (unsigned o = 0; o < ROCE_OPER_CNT; o++) {
        if (sum->oper) {
            out->oper[o].messages = sum->oper[o].messages;
            out->oper[o].completed = sum->oper[o].completed;
            out->oper[o].bytes = sum->oper[o].bytes;
        }
        out->oper[o].latency = roce_times_hist(&side->times, o, &room[o]);
    }
}

void roce_summary_fill(const struct roce_flow *flow, const struct roce_conn *conn,
                       struct roce_conn_summary *out)
{
    out->facts = conn->facts;
    out->facts.complete = conn->paired && !conn->inconsistent && !conn->facts.truncated;
    for (int i = 0; i < 2; i++) {
        const struct roce_endpoint *side = &conn->side[i];

        fill_side(side, flow->summary_hist[i], &out->side[i]);
        if (side->req.started &&
            (!side->req.base_sure || out->side[i].missing_psns || out->side[i].unseen_acked))
            out->facts.complete = false;
    }
}

void roce_summary_latency(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                          uint64_t ns)
{
    roce_times_add(ctx, &side->times, oper, ns);
}

void roce_summary_rtt(struct roce_ctx *ctx, struct roce_endpoint *side, uint64_t ns)
{
    roce_times_add(ctx, &side->times, ROCE_OPER_CNT, ns);
}

static bool grow_regions(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    uint8_t cap = side->region_cap ? (uint8_t)(side->region_cap * 2) : 1;
    struct roce_region *region;

    if (cap > ROCE_REGIONS_MAX)
        return false;
    region = roce_mem_need(&ctx->flow->mem, cap * sizeof(*region));
    if (!region)
        return false;
    if (side->region)
        memcpy(region, side->region, side->region_cap * sizeof(*region));
    roce_mem_put(&ctx->flow->mem, side->region, side->region_cap * sizeof(*region));
    side->region = region;
    side->region_cap = cap;
    return true;
}

void roce_summary_region(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                         uint32_t rkey, uint64_t va, uint64_t len)
{
    struct roce_counts *sum = &side->counts;
    struct roce_region *r;
    uint32_t i = 0;

    while (i < sum->region_cnt && side->region[i].rkey != rkey)
        i++;
    if (i == sum->region_cnt) {
        if (i == side->region_cap && !grow_regions(ctx, side)) {
            sum->region_more++;
            return;
        }
        sum->region_cnt++;
        side->region[i] = (struct roce_region){.rkey = rkey, .va_min = va, .va_end = va};
    }
    r = &side->region[i];
    r->opers |= (uint8_t)(1u << oper);
    r->requests++;
    if (va < r->va_min)
        r->va_min = va;
    if (va + len > r->va_end)
        r->va_end = va + len;
    if (oper == ROCE_OPER_READ)
        r->bytes_read += len;
    else
        r->bytes_written += len;
}

/* ---- the last word -----------------------------------------------------------------------------
 */

/* False: it had ended before. */
static bool end_at(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_end end,
                   uint32_t psn, uint32_t frame)
{
    struct roce_conn_facts *sum = &ctx->conn->facts;
    const struct roce_sent_packet *e = roce_window_get(&side->req.win, psn);

    if (sum->end != ROCE_END_OPEN && sum->end != ROCE_END_DISCONNECTED)
        return false;
    sum->end = end;
    sum->end_side = roce_endpoint_side(side);
    sum->end_psn = psn;
    sum->end_frame = frame;
    sum->end_request_frame = e ? e->last_frame : 0;
    sum->end_tries = e ? e->tries : 0;
    sum->end_repeats = side->req.timeouts;
    sum->end_naks = side->req.naks;
    sum->end_damaged = false;
    sum->end_syndrome = 0;
    sum->end_paged = (end == ROCE_END_RNR_EXHAUSTED || end == ROCE_END_RNR_WAITING) && e &&
                     roce_sent_is_paged(e);
    return true;
}

/* `of`: the frame of the request as it was sent first, or of the RNR NAK. */
static void gave_up(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_end end,
                    uint32_t psn, uint32_t frame, uint32_t of)
{
    if (!end_at(ctx, side, end, psn, frame) || end == ROCE_END_UNANSWERED ||
        end == ROCE_END_RNR_WAITING)
        return;
    if (end == ROCE_END_RNR_EXHAUSTED)
        REPORT(ctx, RNR_EXHAUSTED, "bth.psn", .actual = psn, .value = ROCE_VALUE_NONE, .other = of);
    else
        REPORT(ctx, RETRY_EXHAUSTED, "bth.psn", .actual = psn, .value = ROCE_VALUE_NONE,
               .other = of);
}

/* RNR retry counts of 0 to 6 are limits, 7 is none (R157): who repeats a request seven times
 * repeats it for ever. */
#define RNR_RETRY_NONE 7

/* Of a side whose peer was never seen to answer: it repeated a request, and nothing new came after
 * that. A later request would show that the answers were there, and not captured. */
static void end_unanswered(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    struct roce_req *req = &side->req;
    const struct roce_sent_packet *e = roce_window_get(&req->win, req->retry_psn);
    const struct roce_sent_packet *newest = roce_window_tail(&req->win);

    if (req->timeouts >= 2 && e && newest->frame < e->last_frame)
        (void)end_at(ctx, side, ROCE_END_UNANSWERED, req->retry_psn, e->last_frame);
}

/* So many times a packet has to come with a wrong ICRC, and so many sequence NAKs have to ask for
 * it: a requester may have given up then. */
#define DAMAGED_MIN 3u
#define NAKS_MIN    3u

/* The same request came again and again, with a wrong ICRC each time, no other that was right, and
 * no answer. */
static bool end_damaged(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    struct roce_conn_facts *sum = &ctx->conn->facts;
    const struct roce_req *req = &side->req;
    const struct roce_cold_counters *cold = roce_cold_of(side);
    bool answers = ctx->conn->paired && req->una_known;

    if (cold->bad_tries < DAMAGED_MIN || (req->started && req->last_time >= cold->bad_time) ||
        roce_peer(side)->rsp.last_frame > cold->bad_first || sum->end != ROCE_END_OPEN)
        return false;
    gave_up(ctx, side, answers ? ROCE_END_RETRY_EXHAUSTED : ROCE_END_UNANSWERED, cold->bad_psn,
            cold->bad_last, cold->bad_first);
    sum->end_request_frame = cold->bad_last;
    sum->end_tries = (uint16_t)(cold->bad_tries < UINT8_MAX ? cold->bad_tries : UINT8_MAX);
    sum->end_repeats = (uint8_t)(sum->end_tries - 1);
    sum->end_naks = 0;
    sum->end_damaged = true;
    return true;
}

/* The last word to what is outstanding was a syndrome that has no meaning. */
static bool is_answer_reserved(const struct roce_req *req, const struct roce_rsp *rsp)
{
    return rsp->started && roce_opcode(rsp->last_op)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(rsp->last_syndrome) == ROCE_SYN_RESERVED &&
           roce_diff(rsp->last_psn, req->una) >= 0 && roce_diff(rsp->last_psn, req->nxt) < 0;
}

static void end_side(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    struct roce_endpoint *peer = roce_peer(side);
    const struct roce_req *req = &side->req;
    const struct roce_rsp *rsp = &peer->rsp;
    const struct roce_cold_counters *sum = roce_cold_of(side);
    const struct roce_sent_packet *e;

    ctx->sender = side;
    roce_rate_end(ctx, side);
    if (sum->ce_marked && roce_cold_of(peer)->cnps == 0 && !ctx->conn->ud)
        REPORT(ctx, CE_NO_CNP, "CE-marked packets", .actual = sum->ce_marked,
               .value = ROCE_VALUE_NONE);
    if (ctx->conn->ud || ctx->conn->facts.svc == ROCE_SVC_UC || end_damaged(ctx, side) ||
        !req->started)
        return;
    if (!ctx->conn->paired || !req->una_known) {
        end_unanswered(ctx, side);
        return;
    }
    roce_reads_done_at_end(ctx, side);
    if (roce_diff(req->nxt, req->una) <= 0)
        return;
    e = req->win.acked < req->win.cnt ? roce_window_at(&req->win, req->win.acked) : NULL;
    if (rsp->rnr && req->rnrs >= 1)
        gave_up(ctx, side,
                req->rnrs < RNR_RETRY_NONE ? ROCE_END_RNR_EXHAUSTED : ROCE_END_RNR_WAITING,
                rsp->rnr_psn, rsp->rnr_frame, rsp->rnr_frame);
    else if (is_answer_reserved(req, rsp)) {
        if (end_at(ctx, side, ROCE_END_RETRY_EXHAUSTED, rsp->last_psn, rsp->last_frame))
            ctx->conn->facts.end_syndrome = rsp->last_syndrome; /* which RC-RSP-108 tells of */
    } else if (req->timeouts >= 2 || req->naks >= NAKS_MIN)
        gave_up(ctx, side, ROCE_END_RETRY_EXHAUSTED, req->retry_psn, e ? e->last_frame : 0,
                e ? e->frame : 0);
    if (ctx->conn->facts.end == ROCE_END_OPEN) {
        if (e && (e->flags & ROCE_SENT_ACKREQ) &&
            roce_since(e->time, ctx->flow->last_time) > UNANSWERED_NS)
            REPORT(ctx, ACK_MISSING, "bth.psn", .actual = e->psn, .value = ROCE_VALUE_NONE,
                   .other = e->frame);
        REPORT(ctx, END_PENDING, "PSNs outstanding", 0, (uint64_t)roce_diff(req->nxt, req->una),
               e ? e->frame : 0);
    }
}

void roce_summary_end(struct roce_ctx *ctx)
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
