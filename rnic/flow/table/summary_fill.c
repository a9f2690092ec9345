/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/summary_fill.h"

#include <string.h>
#include "flow/base/any_order.h"
#include "flow/base/counters.h"

/* Returns a - b, or 0 if b is greater. */
static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
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
        .missing_packets = difference(cold->missing_psns, cold->missing_read_psns),
        .missing_repeats = cold->out_of_order ? 0 : cold->missing_repeats,
        .altered_frame = cold->altered_frame,
        .naks_for_late = cold->naks_for_late,
        .naks_after_rnr = cold->naks_after_rnr,
        .naks_unseen = cold->naks_unseen,
        .unheeded_naks = cold->unheeded_naks,
        .unseen_acked = cold->unseen_acked,
        .unseen_packets = difference(cold->unseen_acked, cold->unseen_read_psns),
        .behind_responses = cold->behind_responses,
        .behind_ns = cold->behind_ns,
        .out_of_order = cold->out_of_order,
        .accepted_early = cold->accepted_early,
        .udp_sports = cold->port_cnt,
        .copies = cold->copies,
        .duplicates = cold->duplicates,
        .psn_naks = cold->psn_naks,
        .rnr_naks = cold->rnr_naks,
        .rnr_paged = cold->rnr_paged,
        .may_be_rxe = side->migreq_0,
        .fatal_naks = cold->fatal_naks,
        .late_responses = cold->late_responses,
        .response_gaps = cold->response_gaps,
        .missing_responses = cold->missing_responses,
        .repeated_responses = cold->repeated_responses,
        .repeated_response_bytes = cold->repeated_response_bytes,
        .lost_messages = cold->lost_messages,
        .read_restarts = cold->read_restarts,
        .read_gap_restarts = cold->read_gap_restarts,
        .refusal = cold->refusal,
        .bad_icrc = cold->bad_icrc,
        .malformed = cold->malformed,
        .ack_rtt = roce_times_hist(&side->times, ROCE_OPER_CNT, &room[ROCE_OPER_CNT]),
        .idle_ns = UINT64_C(1000) * side->idle_us + sum->idle_rest_ns,
        .rnr_advertised_ns = cold->rnr_advertised_ns,
        .rnr_waited_ns = cold->rnr_waited_ns,
        .timeout_min_ns = cold->timeout_min_ns,
        .timeout_max_ns = cold->timeout_max_ns,
        .early_timeouts = cold->early_timeouts,
        .late_response_ns = cold->late_response_ns,
        .response_waits = cold->response_waits,
        .credit_waits = cold->credit_waits,
        .adaptive = cold->adaptive,
        .credits = sum->credits,
        .max_psns_in_flight = sum->max_psns_in_flight,
        .max_reads_in_flight = sum->max_reads_in_flight,
        .max_bytes_in_flight = sum->max_bytes_in_flight,
        .ce_marked = cold->ce_marked,
        .ce_unanswered = cold->ce_unanswered,
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
        out->oper[o].latency_ns = out->oper[o].latency ? out->oper[o].latency->sum : 0;
    }
}

/* Sets `frame` and `ns` of *out to the latest packet of `side` and the time from it to `now`. If
 * the packet is a duplicate ACK, its time is unknown, and `ns` is 0. */
static void find_latest(const struct roce_endpoint *side, uint64_t now,
                        struct roce_end_silence *out)
{
    const struct roce_cold_counters *cold = roce_cold_of(side);
    const struct roce_rsp *rsp = &side->rsp;

    if (rsp->started) {
        out->frame = rsp->last_frame;
        out->ns = rsp->dup_num ? 0 : UINT64_C(1000) * (uint32_t)(roce_us(now) - rsp->last_us);
    }
    for (uint32_t i = 0; i < side->req.win.cnt; i++) {
        const struct roce_sent_packet *e = roce_window_at(&side->req.win, i);

        if (e->last_frame > out->frame) {
            out->frame = e->last_frame;
            out->ns = roce_since(e->time, now);
        }
    }
    if (cold->bad_last > out->frame) {
        out->frame = cold->bad_last;
        out->ns = roce_since(cold->bad_last_time, now);
    }
    if (cold->cnp_time && roce_since(cold->cnp_time, now) < out->ns)
        out->frame = 0; /* a CNP shows that the endpoint is not silent */
}

/* Sets *out to the silence of the side that did not respond to the last request. */
static void fill_silence(const struct roce_flow *flow, const struct roce_conn *conn,
                         struct roce_end_silence *out)
{
    const struct roce_conn_facts *facts = &conn->facts;
    const struct roce_endpoint *side = &conn->side[facts->end_side & 1], *peer = roce_peer(side);
    const struct roce_req *req = &peer->req;
    const struct roce_sent_packet *e = NULL;
    uint64_t now = flow->last_time;

    *out = (struct roce_end_silence){0};
    if ((facts->end != ROCE_END_UNANSWERED && facts->end != ROCE_END_RETRY_EXHAUSTED) ||
        !conn->paired || conn->self)
        return;
    for (uint32_t i = 0; i < side->req.win.cnt && !e; i++)
        if (roce_sent_has(roce_window_at(&side->req.win, i), facts->end_psn))
            e = roce_window_at(&side->req.win, i);
    out->request_ns = e ? roce_since(e->time, now) : 0;
    find_latest(peer, now, out);
    if (out->frame > facts->end_frame)
        out->frame = 0;
    if (out->frame == 0 || !req->started || !req->una_known || roce_diff(req->nxt, req->una) <= 0 ||
        req->win.acked >= req->win.cnt)
        return;
    out->pending = (uint32_t)roce_diff(req->nxt, req->una);
    out->pending_frame = roce_window_at(&req->win, req->win.acked)->last_frame;
}

void roce_summary_fill(const struct roce_flow *flow, const struct roce_conn *conn,
                       struct roce_conn_summary *out)
{
    out->facts = conn->facts;
    out->facts.complete = conn->paired && !conn->inconsistent && !conn->facts.truncated &&
                          !conn->side[0].req.moved && !conn->side[1].req.moved;
    fill_silence(flow, conn, &out->silence);
    out->facts.ambiguous = !conn->paired && conn->side[0].pair_ambiguous;
    for (int i = 0; i < 2; i++) {
        const struct roce_endpoint *side = &conn->side[i];

        fill_side(side, flow->summary_hist[i], &out->side[i]);
        out->side[i].accepted_reads = roce_cold_of(&conn->side[!i])->accepted_reads;
        out->side[i].any_order =
            roce_requests_in_any_order(flow, side) || roce_responses_in_any_order(flow, side);
        if (conn->paired)
            out->side[i].timeout_losses = roce_cold_of(side)->timeout_losses;
        if (side->req.started &&
            (!side->req.base_sure || out->side[i].missing_psns || out->side[i].unseen_acked))
            out->facts.complete = false;
    }
}
