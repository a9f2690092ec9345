/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/retransmit/spurious.h"

#include "flow/base/counters.h"
#include "flow/base/report.h"

/* Two equal responses within less than COPY_NS (ns) may be one response that was captured twice, if
 * the sender does not use the IPv4 identification. They are two responses if the first of them was
 * delayed and at least SINGLE_MIN earlier responses were all captured once. */
#define COPY_NS    UINT64_C(50000)
#define SINGLE_MIN 2u
/* Round-trip times are used only if the capture shows at least RTT_MIN of them, and all are at
 * least RTT_MIN_NS (ns): with two capture points, the order of packets that are closer together may
 * be wrong. */
#define RTT_MIN    8u
#define RTT_MIN_NS UINT64_C(1000000)
/* If a go-back retransmits at least this many packets and no sequence NAK was captured, the path
 * probably did not lose all of them: the responder was late. */
#define FLIGHT_MIN 8u
/* A response was delayed if it was captured at least DELAY_RTTS usual round trips and at least
 * DELAY_MIN_NS, ns, after the latest request. */
#define DELAY_RTTS   16u
#define DELAY_MIN_NS UINT64_C(100000)
/* The analysis compares a go-back with later responses for at most this number of packets, because
 * later the PSNs may have wrapped. */
#define PACKETS_MAX 65536u

static uint32_t packets_of(const struct roce_endpoint *side)
{
    return side->counts.packets + roce_peer(side)->counts.packets;
}

static void add_point(struct roce_timeout_watch *watch, const struct roce_sent_packet *e,
                      uint32_t psn)
{
    watch->point[watch->point_cnt++] =
        (struct roce_watch_point){.psn = psn,
                                  .frame = e->frame,
                                  .own_response = roce_opcode_is_answered(roce_opcode(e->op)),
                                  .sent = e->time};
}

/* Returns an element in which to record a go-back: an unused element, or the element of the oldest
 * go-back. Returns NULL if memory is exhausted. */
static struct roce_timeout_watch *new_watch(struct roce_ctx *ctx)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);
    struct roce_req *req = &ctx->sender->req;
    struct roce_watches *watches;
    unsigned at = 0;

    if (cold != ctx->sender->counts.cold)
        return NULL;
    if (!cold->watches)
        cold->watches = roce_mem_need(&ctx->flow->mem, sizeof(*cold->watches));
    watches = cold->watches;
    if (!watches)
        return NULL;
    if (!req->watched)
        watches->used = 0;
    req->watched = true;
    for (unsigned i = 0; i < ROCE_WATCHES; i++)
        if (!(watches->used & 1u << i) ||
            (watches->used & 1u << at && watches->of[i].frame < watches->of[at].frame))
            at = i;
    watches->used |= (uint8_t)(1u << at);
    watches->of[at] = (struct roce_timeout_watch){
        .frame = ctx->frame, .psn = ctx->pkt->bth.psn, .time = ctx->time};
    return &watches->of[at];
}

void roce_spurious_watch(struct roce_ctx *ctx, const struct roce_sent_packet *e, uint32_t psn,
                         uint64_t stalled, uint64_t waited, bool relost)
{
    struct roce_req *req = &ctx->sender->req;
    const struct roce_rsp *rsp = &roce_peer(ctx->sender)->rsp;
    const struct roce_sent_packet *last = roce_window_tail(&req->win);
    uint32_t last_psn = (req->nxt - 1) & ROCE_PSN_MASK;
    bool own = e && roce_opcode_is_answered(roce_opcode(e->op));
    struct roce_timeout_watch *watch;

    /* If a NAK or another response to the request was captured before the go-back, the requester
     * did not receive this response, or ignored it. The timeout is then not spurious, so do not
     * watch the go-back. */
    if (!e || rsp->nak || rsp->rnr || rsp->fatal ||
        (req->una_known && roce_diff(req->una, psn) > 0) ||
        (own && ((e->flags & ROCE_SENT_IMPLIED) || (e->marks & ROCE_MARK_RESP_GAP) ||
                 (roce_opcode(e->op)->kind == ROCE_KIND_READ &&
                  roce_sent_has_response(e, (psn - e->psn) & ROCE_PSN_MASK)))))
        return;
    if (!last || roce_sent_end(last) != req->nxt)
        return;
    if (last->flags & ROCE_SENT_PSN_CNT_GUESS)
        last_psn = last->psn; /* the last PSN of the READ is unknown */
    watch = new_watch(ctx);
    if (!watch)
        return;
    watch->filled = !own && roce_since(last->time, ctx->time) < roce_since(e->time, ctx->time) / 2;
    if (own)
        add_point(watch, e, psn);
    if (!own || last_psn != psn)
        add_point(watch, last, last_psn);
    watch->restart = own && roce_opcode(e->op)->kind == ROCE_KIND_READ && e->psn != psn &&
                     !(e->flags & ROCE_SENT_PSN_CNT_GUESS);
    watch->relost = relost && !watch->restart;
    watch->stalled_ns = stalled;
    watch->waited_ns = waited;
    watch->packet_cnt = packets_of(ctx->sender);
}

void roce_spurious_note_unanswered(struct roce_ctx *ctx)
{
    struct roce_watches *watches = roce_cold_of(ctx->sender)->watches;

    for (unsigned i = 0; i < ROCE_WATCHES && ctx->sender->req.watched; i++)
        if ((watches->used & 1u << i) && watches->of[i].frame == ctx->frame)
            watches->of[i].unanswered = true;
}

void roce_spurious_request(struct roce_ctx *ctx, uint32_t psn_cnt, bool counted)
{
    struct roce_req *req = &ctx->sender->req;
    uint32_t psn = ctx->pkt->bth.psn;
    struct roce_watches *watches = ctx->sender->counts.cold->watches;
    bool own = roce_opcode_is_answered(ctx->pkt->op);

    for (unsigned i = 0; i < ROCE_WATCHES; i++) {
        struct roce_timeout_watch *watch = &watches->of[i];

        if (!(watches->used & 1u << i))
            continue;
        if (counted && req->retx.frame == ctx->frame)
            watch->go_backs++;
        if (counted && req->retx.frame == watch->frame) {
            watch->packets++;
            watch->bytes += ctx->pkt->payload_len;
        }
        for (unsigned k = 0; k < watch->point_cnt; k++) {
            struct roce_watch_point *point = &watch->point[k];

            if (point->own_response ? own && ((point->psn - psn) & ROCE_PSN_MASK) < psn_cnt
                                    : !own && roce_diff(point->psn, psn) >= 0) {
                point->requests++;
                point->after += point->after || psn == point->psn;
            }
        }
    }
}

/* Returns whether the current response is too early to answer a packet of the go-back. */
static bool is_too_soon(const struct roce_ctx *ctx, const struct roce_timeout_watch *watch)
{
    struct roce_hist room;
    const struct roce_hist *rtt =
        roce_times_hist(&roce_peer(ctx->sender)->times, ROCE_OPER_CNT, &room);

    return rtt && rtt->total >= RTT_MIN && rtt->min >= RTT_MIN_NS && ctx->time >= watch->time &&
           ctx->time - watch->time < rtt->min / 2;
}

/* Returns whether the current response, which equals the latest response to `point`, may be a
 * second capture of it. */
static bool may_be_copy(const struct roce_ctx *ctx, const struct roce_timeout_watch *watch,
                        const struct roce_watch_point *point)
{
    return !ctx->sender->saw_id && roce_since(point->latest, ctx->time) < COPY_NS &&
           (!watch->late || roce_cold_of(ctx->sender)->response_twice ||
            ctx->sender->counts.responses < SINGLE_MIN + 2);
}

/* Counts the current response for `point`, a request of a watched go-back, if it answers that
 * request. */
static void count_response(const struct roce_ctx *ctx, const struct roce_timeout_watch *watch,
                           struct roce_watch_point *point)
{
    bool ack = ctx->pkt->op->kind == ROCE_KIND_ACK;
    uint8_t syndrome = ack ? ctx->pkt->aeth.syndrome : 0;

    if (ack && roce_diff(ctx->pkt->bth.psn, watch->psn) >= 0 &&
        roce_diff(ctx->pkt->bth.psn, point->psn) < 0)
        point->moved = true;
    if (ctx->pkt->bth.psn != point->psn || ack == point->own_response)
        return;
    if (point->responses && (syndrome != point->syndrome || may_be_copy(ctx, watch, point)))
        return; /* an ACK with another syndrome may only change the credits: a responder may send
                 * such an ACK without a new request */
    if (point->responses == 0) {
        point->syndrome = syndrome;
        point->too_soon = is_too_soon(ctx, watch);
    }
    if (point->responses == 0 ||
        roce_since(point->latest, ctx->time) >= roce_since(point->sent, watch->time) / 2)
        point->groups++;
    point->responses++;
    point->latest = ctx->time;
}

/* Records the first response since the go-back, and whether the responder or the path was slow: the
 * response was captured long after the latest request, or later than the requester's timer allows.
 */
static void note_first_response(const struct roce_ctx *ctx, const struct roce_endpoint *requester,
                                struct roce_timeout_watch *watch)
{
    uint64_t ns = roce_since(requester->req.last_time, ctx->time);
    struct roce_hist room;
    const struct roce_hist *rtt;

    if (watch->answered || roce_diff(ctx->pkt->bth.psn, watch->psn) < 0)
        return;
    rtt = roce_times_hist(&requester->times, ROCE_OPER_CNT, &room);
    watch->answered = ctx->time;
    watch->late = ns >= roce_since(watch->point[0].sent, watch->time) ||
                  (rtt && ns >= DELAY_MIN_NS && ns / DELAY_RTTS >= roce_hist_quantile(rtt, 500));
}

/* Returns whether a late response acknowledges many packets of the go-back, or all, and no sequence
 * NAK was captured since it began. */
static bool is_late_flight(const struct roce_ctx *ctx, const struct roce_timeout_watch *watch)
{
    uint32_t psn = ctx->pkt->bth.psn, last = watch->point[watch->point_cnt - 1].psn;

    return watch->late && watch->packets >= FLIGHT_MIN &&
           ctx->sender->rsp.nak_frame < watch->frame &&
           (roce_diff(psn, last) >= 0 || roce_diff(psn, watch->psn) >= (int32_t)FLIGHT_MIN);
}

/* Returns whether the go-back was spurious: for each of its watched requests, a response was
 * captured that answers a transmission before the go-back. */
static bool is_spurious(const struct roce_timeout_watch *watch)
{
    if (watch->filled)
        return false;
    for (unsigned k = 0; k < watch->point_cnt; k++) {
        const struct roce_watch_point *point = &watch->point[k];

        if (!point->too_soon && (point->requests == 0 || point->responses <= point->requests) &&
            (point->own_response ||
             (point->groups <= watch->go_backs &&
              (!point->moved || !point->after || point->responses <= point->after))))
            return false;
    }
    return true;
}

/* Returns whether packets of the requester are missing in the capture. A missing retransmission
 * would explain one more response. */
static bool lacks_requests(const struct roce_endpoint *requester)
{
    const struct roce_cold_counters *cold = roce_cold_of(requester);

    return cold->missing_psns || cold->missing_repeats || cold->unseen_acked;
}

void roce_spurious_move(struct roce_cold_counters *cold, const struct roce_retx_summary *part,
                        uint64_t late)
{
    struct roce_retx_summary *from = &cold->retx[ROCE_CAUSE_TIMEOUT],
                             *to = &cold->retx[ROCE_CAUSE_SPURIOUS];

    from->go_backs -= part->go_backs;
    from->packets -= part->packets;
    from->bytes -= part->bytes;
    from->stalled_ns -= part->stalled_ns;
    from->waited_ns -= part->waited_ns;
    to->go_backs += part->go_backs;
    to->packets += part->packets;
    to->bytes += part->bytes;
    to->stalled_ns += part->stalled_ns;
    to->waited_ns += part->waited_ns;
    if (late > cold->late_response_ns)
        cold->late_response_ns = late;
}

/* Subtracts a go-back from the counters of timeouts and adds it to the counters of spurious
 * timeouts. */
static void count_spurious(struct roce_ctx *ctx, struct roce_endpoint *requester,
                           const struct roce_timeout_watch *watch)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, requester);
    const struct roce_retx_summary part = {.go_backs = 1,
                                           .packets = watch->packets,
                                           .bytes = watch->bytes,
                                           .stalled_ns = watch->stalled_ns,
                                           .waited_ns = watch->waited_ns};
    struct roce_read_restarts *restarts = &cold->read_restarts;

    roce_spurious_move(cold, &part, roce_since(watch->point[0].sent, watch->answered));
    cold->timeout_losses.relost -= watch->relost;
    cold->timeout_losses.unanswered -= watch->unanswered;
    restarts->missing -= watch->restart;
    if (restarts->captured + restarts->missing == 0)
        restarts->frame = 0;
    if (requester->req.retx.frame == watch->frame)
        requester->req.retx.cause = ROCE_CAUSE_SPURIOUS;
}

/* Returns whether the record `watch` of a go-back is too old: a later request has used the watched
 * PSN `psn` again, or more than PACKETS_MAX packets of the connection were captured since. `e` is
 * the window entry of `psn`, or NULL. */
static bool is_outdated(const struct roce_endpoint *requester,
                        const struct roce_timeout_watch *watch, uint32_t psn,
                        const struct roce_sent_packet *e)
{
    for (unsigned k = 0; k < watch->point_cnt; k++)
        if (watch->point[k].psn == psn && e && watch->point[k].frame != e->frame)
            return true;
    return packets_of(requester) - watch->packet_cnt > PACKETS_MAX;
}

/* Returns whether the go-back `watch` began before the spurious go-back `later`, and retransmitted
 * the same packets, at least FLIGHT_MIN. Both begin with the same PSN, so no response acknowledged
 * it between them. */
static bool is_before(const struct roce_timeout_watch *watch,
                      const struct roce_timeout_watch *later)
{
    return watch->frame < later->frame && watch->psn == later->psn &&
           watch->point_cnt == later->point_cnt &&
           watch->point[watch->point_cnt - 1].psn == later->point[later->point_cnt - 1].psn &&
           watch->packets >= FLIGHT_MIN;
}

/* Reports that the go-back of watch `i` was spurious, counts it, and ends the watch. */
static void end_watch(struct roce_ctx *ctx, struct roce_endpoint *requester, unsigned i)
{
    struct roce_watches *watches = requester->counts.cold->watches;
    const struct roce_timeout_watch *watch = &watches->of[i];
    const struct roce_watch_point *point = &watch->point[0];

    watches->used &= (uint8_t) ~(1u << i);
    count_spurious(ctx, requester, watch);
    REPORT(ctx, SPURIOUS_TIMEOUT, "time since the request", roce_since(point->sent, watch->time),
           roce_since(point->sent, watch->answered), watch->frame, ROCE_VALUE_NS, ROCE_REL_AT_MOST);
}

void roce_spurious_response(struct roce_ctx *ctx, struct roce_req *req)
{
    struct roce_endpoint *requester = roce_peer(ctx->sender);
    struct roce_watches *watches = requester->counts.cold->watches;
    const struct roce_sent_packet *e = roce_window_get(&req->win, ctx->pkt->bth.psn);

    for (unsigned i = 0; i < ROCE_WATCHES; i++) {
        struct roce_timeout_watch *watch = &watches->of[i];

        if (!(watches->used & 1u << i))
            continue;
        if (is_outdated(requester, watch, ctx->pkt->bth.psn, e)) {
            watches->used &= (uint8_t) ~(1u << i);
            continue;
        }
        for (unsigned k = 0; k < watch->point_cnt; k++)
            count_response(ctx, watch, &watch->point[k]);
        note_first_response(ctx, requester, watch);
        if ((!is_spurious(watch) && !is_late_flight(ctx, watch)) || lacks_requests(requester))
            continue;
        end_watch(ctx, requester, i);
        for (unsigned k = 0; k < ROCE_WATCHES; k++)
            if (watches->used & 1u << k && is_before(&watches->of[k], watch))
                end_watch(ctx, requester, k);
    }
    req->watched = watches->used != 0;
}
