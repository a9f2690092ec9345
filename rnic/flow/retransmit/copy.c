/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/retransmit/copy.h"

#include "flow/base/counters.h"
#include "flow/base/report.h"
#include "flow/retransmit/read_stream.h"
#include "flow/table/conn.h"

/* If at least 1/MANY of the packets are equal to earlier ones, many packets were captured twice. If
 * these packets were retransmissions, the network would lose more packets than any real network
 * does. */
#define MANY 4
/* A requester that received no NAK retransmits no sooner than this time, ns. If a packet repeats an
 * earlier one sooner, both are captures of one transmission. */
#define COPY_NS UINT64_C(50000)
/* Lowest number of copies from which the usual time between a packet and its copy is inferred. */
#define ALIKE_MIN 8u

void roce_report_copy(struct roce_ctx *ctx, uint32_t of)
{
    roce_cold(ctx->flow, ctx->sender)->copies++;
    ctx->result->flags |= ROCE_AN_COPY;
    ctx->result->repeats_frame = of;
    REPORT(ctx, COPY, "frame", .other = of, .value = ROCE_VALUE_NONE);
}

/* Returns whether the capture contains most packets of the connection twice, because it was taken
 * at two points. The number of captured copies of requests shows this. */
static bool is_captured_twice(const struct roce_endpoint *side)
{
    const struct roce_endpoint *peer = roce_peer(side);
    uint64_t copies = roce_cold_of(side)->copies + roce_cold_of(peer)->copies;

    return copies &&
           copies * MANY >= (uint64_t)side->counts.packets + (uint64_t)peer->counts.packets;
}

/* Returns whether the time `ns` from a packet to its copy is about the usual time `usual`. */
static bool is_alike(const struct roce_ctx *ctx, uint64_t ns, uint64_t usual)
{
    uint64_t apart = ns > usual ? ns - usual : usual - ns;

    return apart <= usual / 8 + ctx->flow->grain;
}

/* Returns the usual time from a packet to its copy (second capture), ns. Nearly all copies of the
 * sender's requests must have about this time, because the packets pass two capture points one
 * after the other. If the sender has too few copies, the copies of its peer's requests count.
 * Returns 0 if the times differ. */
static uint64_t usual_copy_ns(const struct roce_ctx *ctx)
{
    const struct roce_endpoint *sides[2] = {ctx->sender, roce_peer(ctx->sender)};

    for (int i = 0; i < 2; i++) {
        const struct roce_cold_counters *cold = roce_cold_of(sides[i]);

        if (cold->copies_timed >= ALIKE_MIN)
            return (uint64_t)cold->copies_alike * 8 >= (uint64_t)cold->copies_timed * 7
                       ? cold->copy_ns
                       : 0;
    }
    return 0;
}

void roce_copy_time(struct roce_ctx *ctx, uint64_t ns)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);

    if (cold->copies_timed == UINT32_MAX)
        return;
    if (cold->copies_timed++ == 0)
        cold->copy_ns = ns;
    cold->copies_alike += is_alike(ctx, ns, cold->copy_ns);
}

/* Returns whether other requests were captured since the latest transmission of `e`, and the
 * packets before `e` were captured once. So the capture was not taken at two points, and the
 * current repetition of `e` begins a go-back. `e` is in the window of the sender. */
static bool is_behind_newer(const struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    struct roce_req *req = &ctx->sender->req;
    uint32_t from = req->win.cnt - roce_window_find(&req->win, e->psn);
    uint32_t packets = ctx->sender->counts.packets;

    return roce_sent_end(e) != (req->retx.active ? req->retx.next : req->nxt) &&
           packets >= from + MANY &&
           roce_cold_of(ctx->sender)->copies * MANY < (uint64_t)packets - from;
}

/* Returns whether a go-back to `e` is probable. Either a later response shows that the requester
 * lacks a response to `e`, or the request before the current one in PSN order was captured late. */
static bool is_missing(const struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    uint32_t late = roce_cold_of(ctx->sender)->late_psn[0];

    return (e->flags & ROCE_SENT_IMPLIED) || (e->marks & ROCE_MARK_RESP_GAP) ||
           roce_read_gap_at(roce_peer(ctx->sender), ctx->pkt->bth.psn) ||
           (late && roce_diff(late, ctx->pkt->bth.psn) == 0);
}

/* Returns whether the current request belongs to a go-back that began after the latest transmission
 * of `e`. One sign is enough: a NAK or RNR NAK was captured after `e`; the requester has not obeyed
 * the NAK for this PSN yet; other requests were captured after `e`; a response is missing; the
 * go-back in progress has not reached this PSN. If packets are captured twice, copies of packets
 * from before the go-back may be captured after its start. Then only two signs count: a NAK that
 * the requester has not obeyed, and a PSN that is the next one of the go-back. */
static bool is_in_go_back(const struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    const struct roce_retransmission *retx = &ctx->sender->req.retx;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;

    if (is_captured_twice(ctx->sender))
        return rsp->nak || rsp->rnr || (retx->active && retx->next == ctx->pkt->bth.psn);
    return rsp->nak_frame > e->last_frame || rsp->rnr_frame > e->last_frame ||
           roce_rsp_nak_is_open(rsp, e->psn) || is_behind_newer(ctx, e) || is_missing(ctx, e) ||
           (retx->active && roce_diff(ctx->pkt->bth.psn, retx->next) >= 0);
}

/* Returns whether the current request is a copy (second capture) of the transmission `was`: both
 * have the same ICRC and the same IPv4 identification. If the sender uses one identification for
 * all packets, the copy must come about `usual` ns later instead. */
static bool is_copy_of(const struct roce_ctx *ctx, const struct roce_recent_packet *was,
                       uint64_t usual)
{
    return was->icrc == ctx->pkt->icrc &&
           (ctx->sender->saw_id ? was->id == ctx->digest->ip_id
                                : is_alike(ctx, roce_since(was->time, ctx->time), usual));
}

bool roce_request_is_copy(const struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    const struct roce_recent_packet last = {e->last_frame, e->icrc, e->ip_id, e->time};
    const struct roce_cold_counters *cold = roce_cold_of(ctx->sender);
    const uint64_t usual = is_captured_twice(ctx->sender) ? usual_copy_ns(ctx) : 0;

    if (ctx->icrc == ROCE_ICRC_UNVERIFIED && ctx->pkt->cap_len < ctx->pkt->icrc_off + ROCE_ICRC_LEN)
        return false;
    if ((ctx->sender->saw_id || usual) && is_copy_of(ctx, &last, usual))
        return true;
    for (unsigned i = 0; i < ROCE_RECENT_CNT && usual; i++)
        if (cold->recent[i].frame && is_copy_of(ctx, &cold->recent[i], usual))
            return true;
    return !ctx->sender->saw_id && !usual && ctx->pkt->icrc == e->icrc &&
           roce_since(e->time, ctx->time) < COPY_NS && !is_in_go_back(ctx, e);
}

bool roce_response_is_copy(struct roce_ctx *ctx)
{
    const struct roce_rsp *rsp = &ctx->sender->rsp;
    const struct roce_cold_counters *cold = roce_cold_of(ctx->sender);
    const struct roce_pkt *pkt = ctx->pkt;
    uint16_t id = ctx->digest->ip_id;
    uint32_t of = 0;
    bool twice;

    if (ctx->icrc == ROCE_ICRC_UNVERIFIED)
        return false;
    twice = is_captured_twice(ctx->sender);
    if (!ctx->sender->saw_id && !twice)
        return false;
    for (unsigned i = 0; i < ROCE_RECENT_CNT && (twice || roce_pkt_is_nak(pkt)); i++)
        if (cold->recent[i].frame && cold->recent[i].id == id &&
            cold->recent[i].icrc == pkt->icrc &&
            (ctx->sender->saw_id || roce_since(cold->recent[i].time, ctx->time) < COPY_NS))
            of = cold->recent[i].frame;
    if (!of && ctx->sender->saw_id && rsp->started && rsp->last_op == pkt->bth.opcode &&
        rsp->last_psn == pkt->bth.psn && rsp->last_id == id && rsp->last_icrc == pkt->icrc)
        of = rsp->last_frame;
    if (of)
        roce_report_copy(ctx, of);
    return of != 0;
}

bool roce_datagram_is_copy(struct roce_ctx *ctx)
{
    const struct roce_cold_counters *cold = roce_cold_of(ctx->sender);
    const struct roce_pkt *pkt = ctx->pkt;

    if (pkt->cap_len < pkt->icrc_off + ROCE_ICRC_LEN)
        return false;
    for (unsigned i = 0; i < ROCE_RECENT_CNT; i++) {
        const struct roce_recent_packet *was = &cold->recent[i];

        if (was->frame && was->icrc == pkt->icrc && was->id == ctx->digest->ip_id &&
            (ctx->sender->saw_id || roce_since(was->time, ctx->time) < COPY_NS)) {
            roce_report_copy(ctx, was->frame);
            return true;
        }
    }
    roce_copy_note(ctx);
    return false;
}

void roce_copy_note_response(struct roce_ctx *ctx)
{
    if (roce_pkt_is_nak(ctx->pkt) || is_captured_twice(ctx->sender))
        roce_copy_note(ctx);
}

static void note_recent(struct roce_ctx *ctx, struct roce_recent_packet packet)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);

    cold->recent[cold->recent_next++ % ROCE_RECENT_CNT] = packet;
}

void roce_copy_note_superseded(struct roce_ctx *ctx, const struct roce_sent_packet *e)
{
    if (is_captured_twice(ctx->sender))
        note_recent(ctx, (struct roce_recent_packet){e->last_frame, e->icrc, e->ip_id, e->time});
}

void roce_copy_note(struct roce_ctx *ctx)
{
    note_recent(ctx, (struct roce_recent_packet){ctx->frame, ctx->pkt->icrc, ctx->digest->ip_id,
                                                 ctx->time});
}

bool roce_copy_is_detectable(const struct roce_ctx *ctx, uint32_t frame)
{
    const struct roce_cold_counters *cold = roce_cold_of(ctx->sender);

    for (unsigned i = 0; i < ROCE_RECENT_CNT && ctx->sender->saw_id; i++)
        if (cold->recent[i].frame == frame)
            return true;
    return false;
}

bool roce_conn_has_copies(const struct roce_ctx *ctx)
{
    const struct roce_endpoint *sides[2] = {ctx->sender, roce_peer(ctx->sender)};

    for (int i = 0; i < 2; i++) {
        const struct roce_cold_counters *cold = roce_cold_of(sides[i]);
        uint64_t again = 0;

        /* If the sender does not use the IPv4 identification, copies may be counted as
         * retransmissions that no NAK caused. */
        for (int c = 0; c < ROCE_CAUSE_CNT && !sides[i]->saw_id; c++)
            if (c != ROCE_CAUSE_RNR_NAK && c != ROCE_CAUSE_SEQ_NAK)
                again += cold->retx[c].packets;
        if (cold->copies > 0 || again * MANY >= sides[i]->counts.packets + 1)
            return true;
    }
    return false;
}
