/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requests: places each request packet of a connected service among those seen before: new, after a
 * hole, late, a copy, or sent again; and follows the messages they make.
 */
#include "flow/check.h"
#include "flow/life.h"
#include "flow/turn.h"

#define WINDOW_UNPAIRED 256u /* remembered while nothing acknowledges */
#define UC_REMEMBERED   63u  /* of UC, where nothing is acknowledged: what may still be copied */
#define DMA_MAX         UINT32_C(0x80000000) /* R081 */
#define KEEP_ALIVE_NS   UINT64_C(1000000000)
#define REST_NS         UINT64_C(100000) /* enough for another use of the QP that nobody tells of */

/* The packet at hand as an entry. Into a zeroed one: large ones that are just written are slow to
 * copy. */
static void entry_set(const struct roce_ctx *ctx, struct roce_sent *e, uint32_t span, bool guess)
{
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_opcode *op = pkt->op;

    e->time = e->msg_time = ctx->time;
    e->psn = pkt->bth.psn;
    e->span = span;
    e->frame = e->last_frame = ctx->frame;
    e->icrc = pkt->icrc;
    e->ip_id = ctx->glance->ip_id;
    e->len = (uint16_t)pkt->payload_len;
    e->op = op->value;
    e->tries = 1;
    if (roce_pkt_has(pkt, ROCE_HDR_RETH)) {
        e->va = pkt->reth.va;
        e->rkey = pkt->reth.rkey;
        e->dma_len = pkt->reth.dma_len;
    } else if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH)) {
        e->va = pkt->atomiceth.va;
        e->rkey = pkt->atomiceth.rkey;
        e->dma_len = 8;
    } else if (roce_opcode_has(op, ROCE_HDR_RETH) || roce_opcode_has(op, ROCE_HDR_ATOMICETH)) {
        e->dma_len = ROCE_LEN_UNKNOWN;
    }
    e->flags =
        (uint8_t)((roce_opcode_ends(op) ? ROCE_SENT_ENDS : 0) |
                  (pkt->bth.ackreq ? ROCE_SENT_ACKREQ : 0) | (guess ? ROCE_SENT_SPAN_GUESS : 0));
    e->sample = ctx->glance->sample;
    e->marks = ctx->glance->sampled ? ROCE_MARK_SAMPLE : 0;
}

void roce_req_fly(struct roce_req *req, struct roce_sent *e)
{
    if (e->marks & ROCE_MARK_FLYING)
        return;
    e->marks |= ROCE_MARK_FLYING;
    req->bytes_in_flight += e->len;
    req->reqs_in_flight += (e->flags & ROCE_SENT_ENDS) != 0;
    req->reads_in_flight += roce_opcode_is_answered(roce_opcode(e->op));
}

void roce_req_land(struct roce_req *req, struct roce_sent *e)
{
    if (!(e->marks & ROCE_MARK_FLYING))
        return;
    e->marks &= (uint8_t)~ROCE_MARK_FLYING;
    req->bytes_in_flight -= e->len;
    req->reqs_in_flight -= (e->flags & ROCE_SENT_ENDS) != 0;
    req->reads_in_flight -= roce_opcode_is_answered(roce_opcode(e->op));
}

/* What `e` inherits from the packet before it in PSN order, if that was seen. */
static void link_entry(struct roce_req *req, const struct roce_sent *prev, struct roce_sent *e)
{
    const struct roce_opcode *op = roce_opcode(e->op);

    e->chain = prev ? prev->chain : ++req->chain;
    if (roce_opcode_starts(op)) {
        e->off = 0;
        e->flags |= ROCE_SENT_OFF_KNOWN;
        e->msg_frame = e->frame;
        return;
    }
    e->msg_frame = 0;
    e->flags &= (uint8_t)~ROCE_SENT_OFF_KNOWN;
    if (prev && !(prev->flags & ROCE_SENT_ENDS) && roce_opcode(prev->op)->kind == op->kind) {
        e->msg_frame = prev->msg_frame;
        e->msg_time = prev->msg_time;
        e->dma_len = prev->dma_len;
        e->rkey = prev->rkey;
        e->va = prev->va;
        e->off = prev->off + prev->len;
        e->flags |= prev->flags & ROCE_SENT_OFF_KNOWN;
    }
}

static bool touches(const struct roce_sent *prev, const struct roce_sent *e)
{
    return prev && roce_sent_end(prev) == e->psn && !(prev->flags & ROCE_SENT_SPAN_GUESS);
}

static void in_flight(struct roce_ctx *ctx, struct roce_req *req)
{
    struct roce_counts *sum;
    struct roce_flow_result *r = ctx->result;
    int32_t psns = roce_diff(req->nxt, req->una);
    struct roce_side *side = req == &ctx->side->req ? ctx->side : roce_peer(ctx->side);

    r->psns_in_flight = req->una_known && psns > 0 ? (uint32_t)psns : 0;
    r->bytes_in_flight = req->bytes_in_flight;
    r->requests_in_flight = req->reqs_in_flight;
    r->reads_in_flight = req->reads_in_flight;
    if (!req->una_known)
        return;
    sum = roce_sum(side);
    if (r->psns_in_flight > sum->max_psns_in_flight)
        sum->max_psns_in_flight = r->psns_in_flight;
    if (r->bytes_in_flight > sum->max_bytes_in_flight)
        sum->max_bytes_in_flight = r->bytes_in_flight;
    if (r->reads_in_flight > sum->max_reads_in_flight)
        sum->max_reads_in_flight = r->reads_in_flight;
}

struct roce_sent *roce_request_room(struct roce_ctx *ctx, uint32_t *at)
{
    struct roce_req *req = &ctx->side->req;
    struct roce_window *w = &req->win;
    uint32_t max = ctx->conn->paired ? ctx->flow->opts.window_max : WINDOW_UNPAIRED;
    uint64_t spare = 0, *overflow = ctx->conn->paired ? &ctx->flow->totals.overflown : &spare;

    if (max > ctx->flow->opts.window_max)
        max = ctx->flow->opts.window_max;
    if (w->cap == 0) {
        size_t size = ROCE_WINDOW_MIN * sizeof(*w->buf);

        w->buf = roce_flow_get(ctx->flow, size, ctx->conn);
        if (!w->buf)
            return NULL;
        w->cap = ROCE_WINDOW_MIN;
    }
    if (!roce_window_room(w, max, &ctx->flow->mem)) {
        struct roce_sent *old = roce_window_at(w, 0);

        if (*at == 0)
            return NULL;
        roce_req_land(req, old);
        if (w->acked == 0) { /* it leaves before its answer */
            ctx->conn->sum.truncated |= ctx->conn->paired;
            (*overflow)++;
        }
        roce_window_drop(w);
        (*at)--;
    }
    return roce_window_insert(w, at, max, &ctx->flow->mem, overflow);
}

/* Counts a packet that is seen for the first time. */
static void count_new(struct roce_ctx *ctx, struct roce_sent *e)
{
    struct roce_req *req = &ctx->side->req;
    const struct roce_opcode *op = ctx->pkt->op;
    enum roce_oper oper = roce_oper_of(op);
    struct roce_oper_count *sum = roce_oper_cnt(ctx->flow, ctx->side, oper);

    if (e->flags & ROCE_SENT_ENDS) {
        sum->messages++;
        req->msg_number++;
    }
    if (ctx->conn->sum.svc == ROCE_SVC_UC) { /* done when sent */
        if ((e->flags & ROCE_SENT_ENDS) && (e->flags & ROCE_SENT_OFF_KNOWN)) {
            sum->completed++;
            sum->bytes += e->off + e->len;
        }
        return;
    }
    roce_req_fly(req, e);
    if (roce_pkt_has(ctx->pkt, ROCE_HDR_RETH) || roce_pkt_has(ctx->pkt, ROCE_HDR_ATOMICETH))
        roce_summary_region(ctx, ctx->side, oper, e->rkey, e->va, e->dma_len);
}

static void tell_message(struct roce_ctx *ctx, const struct roce_sent *e)
{
    struct roce_flow_result *r = ctx->result;
    const struct roce_opcode *op = roce_opcode(e->op);

    if (!ctx->told)
        return;
    r->msg_number = roce_sent_number(e);
    r->msg_first_frame = e->msg_frame;
    r->msg_offset = e->off;
    r->msg_bytes = (uint64_t)e->off + e->len;
    if (roce_opcode_starts(op))
        r->flags |= ROCE_AN_MSG_START;
    if (e->flags & ROCE_SENT_ENDS) {
        r->flags |= ROCE_AN_MSG_END;
        r->msg_total = e->flags & ROCE_SENT_OFF_KNOWN ? r->msg_bytes : 0;
    }
    if ((op->kind == ROCE_KIND_READ || (op->kind == ROCE_KIND_WRITE && e->msg_frame)) &&
        e->dma_len != ROCE_LEN_UNKNOWN)
        r->msg_total = e->dma_len;
    if (op->kind != ROCE_KIND_SEND && e->msg_frame && e->dma_len != ROCE_LEN_UNKNOWN) {
        r->flags |= ROCE_AN_REGION;
        r->rkey = e->rkey;
        r->va = e->va + e->off;
    }
}

/* Whether `e` may come next after `prev`: inside a message, or the first of one. */
static bool follows(const struct roce_sent *prev, const struct roce_sent *e)
{
    const struct roce_opcode *was = roce_opcode(prev->op), *op = roce_opcode(e->op);

    return roce_opcode_ends(was) ? roce_opcode_starts(op)
                                 : !roce_opcode_starts(op) && was->kind == op->kind;
}

/* The packet at hand, of `span` PSNs, at the end of what was seen; `joined` if it touches the one
 * before. */
static void append(struct roce_ctx *ctx, uint32_t span, bool guess)
{
    struct roce_req *req = &ctx->side->req;
    struct roce_sent *prev, *e, keep;
    uint32_t at = req->win.cnt;
    bool joined;

    e = roce_request_room(ctx, &at);
    prev = e && at ? roce_window_at(&req->win, at - 1) : NULL;
    if (!e) { /* no memory: nothing can be linked to it */
        keep = (struct roce_sent){0};
        e = &keep;
    }
    entry_set(ctx, e, span, guess);
    joined = touches(prev, e);
    e->cum = (prev ? prev->cum : req->msg_number) + ((e->flags & ROCE_SENT_ENDS) != 0);
    link_entry(req, joined ? prev : NULL, e);
    req->nxt = roce_sent_end(e);
    req->span_guess = (e->flags & ROCE_SENT_SPAN_GUESS) != 0;
    req->ep.active = false;
    if (joined) {
        if (!follows(prev, e) && roce_since(prev->time, ctx->time) >= REST_NS &&
            roce_turn_begin(ctx, ctx->side, ROCE_TURN_ANEW, e->psn))
            roce_turn_step(ctx, e->psn, span, guess);
        ctx->conn->doubt |=
            !follows(prev, e) && roce_life_may_be_anew(ctx) && roce_life_may_start(ctx, e->psn);
        roce_check_order(ctx, prev, e);
    }
    roce_check_entry(ctx, e);
    if (e != &keep)
        count_new(ctx, e);
    if (ctx->conn->sum.svc == ROCE_SVC_UC)
        req->win.acked = req->win.cnt > UC_REMEMBERED ? req->win.cnt - UC_REMEMBERED : 0;
    else if (e != &keep && req->una_known && roce_diff(req->una, req->nxt) >= 0 &&
             req->win.acked == at) {
        /* Acknowledged before it was captured: capture points that are not in step. */
        req->win.acked++;
        roce_req_land(req, e);
    }
    roce_check_new(ctx, e);
    tell_message(ctx, e);
}

/* The same where `now` was looked at before. */
static void append_late(struct roce_ctx *ctx, const struct roce_sent *now)
{
    append(ctx, now->span, (now->flags & ROCE_SENT_SPAN_GUESS) != 0);
}

/* The messages of the entry at `at`, which came late, count for all later ones too. */
static void count_among(struct roce_ctx *ctx, uint32_t at, const struct roce_sent *prev)
{
    struct roce_window *w = &ctx->side->req.win;
    struct roce_rsp *rsp = &roce_peer(ctx->side)->rsp;
    struct roce_sent *e = roce_window_at(w, at);
    uint32_t ends = (e->flags & ROCE_SENT_ENDS) != 0;
    bool anchored = false;

    if (prev)
        e->cum = prev->cum + ends;
    else if (at + 1 < w->cnt) /* before all that is remembered */
        e->cum = roce_sent_number(roce_window_at(w, at + 1)) + ends;
    else
        e->cum = ctx->side->req.msg_number + ends;
    for (uint32_t i = at + 1; ends && i < w->cnt; i++) {
        roce_window_at(w, i)->cum++;
        anchored |= roce_window_at(w, i)->chain == rsp->anchor_chain;
    }
    if (rsp->anchor && anchored)
        rsp->anchor_cum++;
}

/* A packet that fills a hole. Its neighbours may now be judged. */
static void fill(struct roce_ctx *ctx, uint32_t at, const struct roce_sent *now)
{
    struct roce_req *req = &ctx->side->req;
    struct roce_window *w = &req->win;
    bool acked = at < w->acked;
    struct roce_sent *e = roce_request_room(ctx, &at), *prev;

    if (!e)
        return;
    *e = *now;
    prev = at ? roce_window_at(w, at - 1) : NULL;
    count_among(ctx, at, prev);
    if (!touches(prev, e))
        prev = NULL;
    link_entry(req, prev, e);
    if (prev)
        roce_check_order(ctx, prev, e);
    roce_check_entry(ctx, e);
    if (acked)
        req->msg_number += (e->flags & ROCE_SENT_ENDS) != 0;
    else
        count_new(ctx, e);
    for (uint32_t i = at + 1; i < w->cnt; i++) {
        struct roce_sent *next = roce_window_at(w, i);
        bool knew = (next->flags & ROCE_SENT_OFF_KNOWN) != 0;

        prev = roce_window_at(w, i - 1);
        if (!touches(prev, next) || next->chain == prev->chain)
            break;
        link_entry(req, prev, next);
        if (i == at + 1)
            roce_check_order(ctx, prev, next);
        if (!knew && (next->flags & ROCE_SENT_OFF_KNOWN))
            roce_check_entry(ctx, next);
    }
    if (w->cnt && roce_window_tail(w)->chain != req->chain)
        req->chain = (uint16_t)(req->chain + 1); /* a fresh number for the next hole */
    tell_message(ctx, e);
}

/* Whether READ `now` asks for what is left of READ `e` from its PSN `skip` on. */
static bool tails(const struct roce_sent *e, const struct roce_sent *now, uint32_t skip)
{
    return roce_opcode(e->op)->kind == ROCE_KIND_READ &&
           ((e->flags & ROCE_SENT_SPAN_GUESS) || skip + now->span == e->span);
}

static void copy(struct roce_ctx *ctx, uint32_t of)
{
    roce_rare(ctx->flow, ctx->side)->copies++;
    ctx->result->flags |= ROCE_AN_COPY;
    ctx->result->repeats_frame = of;
    SAY(ctx, COPY, "frame", .other = of, .value = ROCE_VALUE_NONE);
}

/* A PSN that was seen before: `e` holds it. */
static void again(struct roce_ctx *ctx, uint32_t at, struct roce_sent *now)
{
    struct roce_req *req = &ctx->side->req;
    struct roce_sent *e = roce_window_at(&req->win, at);
    bool acked = at < req->win.acked, read = ctx->pkt->op->kind == ROCE_KIND_READ;
    uint32_t skip = (now->psn - e->psn) & ROCE_PSN_MASK;

    if (skip && !(read && tails(e, now, skip))) {
        if (req->suspect && roce_opcode_starts(ctx->pkt->op)) {
            roce_life_restart(ctx, now->psn, true);
            append_late(ctx, now);
            return;
        }
        if (!(e->flags & ROCE_SENT_SPAN_GUESS) && roce_opcode(e->op)->kind != ctx->pkt->op->kind)
            SAY(ctx, READ_PSN_RANGE, "bth.psn", roce_sent_end(e), now->psn, e->frame);
        roce_turn_compare(ctx, e, now);
        if (!read || roce_opcode(e->op)->kind != ROCE_KIND_READ)
            return;
    }
    if (skip == 0 && now->icrc == e->icrc && now->op == e->op &&
        !(req->ep.active && req->ep.next == now->psn) &&
        (ctx->conn->sum.svc == ROCE_SVC_UC || roce_is_copy(ctx, e->icrc, e->ip_id, e->time))) {
        copy(ctx, e->last_frame); /* UC sends nothing again */
        return;
    }
    if (skip == 0 && ctx->conn->sum.svc != ROCE_SVC_UC &&
        roce_life_is_another(ctx, e, now, acked)) {
        if (roce_opcode_starts(ctx->pkt->op)) {
            roce_life_restart(ctx, now->psn, true);
            append_late(ctx, now);
            return;
        }
        ctx->conn->doubt = true;
    }
    req->suspect |= roce_life_untold(ctx) && roce_life_may_start(ctx, now->psn);
    roce_turn_compare(ctx, e, now);
    if (!read || skip == 0)
        roce_check_same(ctx, e, now);
    ctx->result->repeats_frame = e->frame;
    ctx->result->rto = roce_since(e->time, ctx->time);
    roce_flow_link(ctx, ROCE_LINK_REPEATED_IN, e->frame);
    roce_episode_step(ctx, e, now->psn, now->span);
    if (acked && !(e->flags & ROCE_SENT_IMPLIED) &&
        !(roce_opcode_is_answered(ctx->pkt->op) && !(e->flags & ROCE_SENT_DONE))) {
        roce_rare(ctx->flow, ctx->side)->duplicates++;
        ctx->result->flags |= ROCE_AN_DUPLICATE_REQUEST;
    }
    e->time = now->time;
    e->last_frame = now->frame;
    e->icrc = now->icrc;
    e->ip_id = now->ip_id;
    if (e->tries < 255)
        e->tries++;
    if (read) {
        e->flags |= ROCE_SENT_RESTARTED;
        e->flags &= (uint8_t) ~(ROCE_SENT_IMPLIED | ROCE_SENT_ORIG);
        e->restart = skip;
        e->resp_next = skip;
    }
    tell_message(ctx, e);
}

/* Whether READ `now`, of which nothing is remembered, reaches into entries from `next` on. */
static bool reaches(const struct roce_sent *now, const struct roce_sent *next)
{
    return next && now->span > 1 && ((next->psn - now->psn) & ROCE_PSN_MASK) < now->span;
}

/* An older PSN that is in no entry. */
static void unseen(struct roce_ctx *ctx, uint32_t at, struct roce_sent *now)
{
    struct roce_req *req = &ctx->side->req;
    struct roce_window *w = &req->win;
    /* Its PSN is before the end, so that no later entry means that it is before all of them. */
    bool old = at == w->cnt;
    struct roce_sent *next = w->cnt ? roce_window_at(w, old ? 0 : at) : NULL;
    bool whole = reaches(now, next) && roce_opcode(next->op)->kind == ROCE_KIND_READ &&
                 roce_sent_end(next) == roce_sent_end(now); /* its restarted tail came before */
    int32_t back = -roce_diff(now->psn, req->nxt);

    if (old && ctx->conn->sum.svc == ROCE_SVC_UC && roce_diff(now->psn, req->base) >= 0 &&
        roce_rare_of(ctx->side)->missing_psns <= roce_rare_of(ctx->side)->out_of_order) {
        copy(ctx, 0); /* older than what is remembered, and nothing is missing there */
        return;
    }
    at = old ? 0 : at;
    if (old && ctx->conn->sum.svc != ROCE_SVC_UC &&
        (back > ROCE_JUMP || (req->base_sure && roce_diff(now->psn, req->base) < 0) ||
         (roce_life_untold(ctx) && ((roce_life_stopped(ctx) && roce_opcode_starts(ctx->pkt->op)) ||
                                    (reaches(now, next) && !whole))) ||
         (roce_opcode_starts(ctx->pkt->op) && req->una_known &&
          roce_diff(req->una, req->nxt) >= 0 && !req->ep.active &&
          (now->psn == req->base ||
           roce_since(req->last_time, ctx->time) >= ROCE_IDLE_REUSE_NS)))) {
        roce_life_restart(ctx, now->psn, roce_opcode_starts(ctx->pkt->op));
        append_late(ctx, now);
        return;
    }
    ctx->conn->doubt |= roce_life_rested(ctx) && !roce_conn_told(ctx->conn);
    req->suspect |= old && roce_life_untold(ctx); /* what was sent there is not known */
    if (old && req->una_known && roce_diff(now->psn, req->una) < 0 && next &&
        ctx->conn->sum.svc != ROCE_SVC_UC) {
        roce_episode_step(ctx, NULL, now->psn, now->span); /* older than what is remembered */
        return;
    }
    if (reaches(now, next)) {
        if (whole) {
            uint32_t shift = (next->psn - now->psn) & ROCE_PSN_MASK;

            next->psn = now->psn;
            next->span = now->span;
            next->va = now->va;
            next->dma_len = now->dma_len;
            next->resp_next = 0;
            next->resp_high += next->resp_high ? shift : 0;
            next->flags |= ROCE_SENT_RESTARTED;
            next->restart = 0;
        }
        roce_episode_step(ctx, NULL, now->psn, now->span);
        return;
    }
    if (roce_episode_is_late(ctx, now->psn)) {
        roce_rare(ctx->flow, ctx->side)->out_of_order++;
        ctx->result->flags |= ROCE_AN_OUT_OF_ORDER;
        SAY(ctx, OUT_OF_ORDER, "bth.psn", req->nxt, now->psn);
    } else
        roce_episode_step(ctx, NULL, now->psn, now->span);
    if (now->span > 1)
        now->flags |= ROCE_SENT_RESTARTED; /* it may be the tail of a READ not captured */
    fill(ctx, at, now);
}

static void ahead(struct roce_ctx *ctx, int32_t d, const struct roce_sent *now)
{
    struct roce_req *req = &ctx->side->req;
    struct roce_sent *tail = roce_window_tail(&req->win);

    if (req->span_guess && tail) {
        uint32_t len = tail->dma_len < DMA_MAX ? tail->dma_len : DMA_MAX;
        uint32_t most = roce_psn_cnt(len, 256) - tail->span;

        if ((uint32_t)d <= most) {     /* the READ before took so many */
            tail->span += (uint32_t)d; /* still a guess: packets may be missing here */
            req->nxt = now->psn;
            append_late(ctx, now);
            return;
        }
        d -= (int32_t)most;
    }
    if (d > ROCE_JUMP) {
        roce_life_restart(ctx, now->psn, roce_opcode_starts(ctx->pkt->op));
        append_late(ctx, now);
        return;
    }
    ctx->conn->doubt |=
        (roce_life_rested(ctx) || (roce_life_stopped(ctx) && roce_life_untold(ctx))) &&
        !roce_conn_told(ctx->conn);
    if (ctx->conn->sum.svc == ROCE_SVC_UC)
        SAY(ctx, UC_PSN_GAP, "bth.psn", req->nxt, now->psn);
    else
        SAY(ctx, PSN_GAP, "bth.psn", req->nxt, now->psn);
    ctx->result->flags |= ROCE_AN_PSN_GAP;
    ctx->result->gap = (uint32_t)d;
    roce_rare(ctx->flow, ctx->side)->missing_psns += (uint32_t)d;
    req->gap_time = ctx->time;
    append_late(ctx, now);
}

/* Anything but the next PSN: it is `d` after that. */
static void place_late(struct roce_ctx *ctx, int32_t d, uint32_t span, bool guess)
{
    struct roce_window *w = &ctx->side->req.win;
    struct roce_sent now = {0};
    uint32_t at;

    entry_set(ctx, &now, span, guess);
    if (d > 0) {
        ahead(ctx, d, &now);
        return;
    }
    at = roce_window_find(w, now.psn);
    if (at < w->cnt && roce_sent_has(roce_window_at(w, at), now.psn))
        again(ctx, at, &now);
    else
        unseen(ctx, at, &now);
}

void roce_request(struct roce_ctx *ctx)
{
    uint32_t psn = ctx->pkt->bth.psn, span;
    struct roce_req *req;
    struct roce_rsp *rsp;
    uint64_t idle;
    bool guess = false;
    int32_t d;

    ctx->result->flags |= ROCE_AN_REQUEST;
    if (!ctx->conn->paired) {
        uint32_t tries = ++ctx->side->pair_tries;

        if (ctx->conn->sum.svc != ROCE_SVC_UC)
            roce_pair_wait(ctx->flow, ctx->side);
        else if ((tries & (tries - 1)) == 0)
            roce_pair_silent(ctx);
    }
    req = &ctx->side->req;
    idle = req->last_time ? roce_since(req->last_time, ctx->time) : 0;
    if (roce_life_rested(ctx) && psn != req->nxt)
        roce_conn_forget_mtu(ctx->conn); /* it may be another use of the QP */
    roce_check_mtu_learn(ctx);
    roce_check_size(ctx);
    span = ctx->pkt->op->kind == ROCE_KIND_READ ? roce_span_of_read(ctx, &guess) : 1;
    if (!req->started)
        roce_life_start(ctx, psn);
    roce_sum(ctx->side)->payload_sent += (uint16_t)ctx->pkt->payload_len;
    rsp = &roce_peer(ctx->side)->rsp;
    if (rsp->gap_nak && ((rsp->gap_psn - psn) & ROCE_PSN_MASK) < span)
        rsp->gap_nak = false;
    d = roce_diff(psn, req->nxt);
    if (rsp->fatal || idle >= ROCE_IDLE_REUSE_NS)
        (void)roce_turn_begin(ctx, ctx->side, d < 0 ? ROCE_TURN_BACK : ROCE_TURN_ANEW, psn);
    else if (d != 0 && !(req->ep.active && req->ep.next == psn))
        (void)roce_turn_begin(ctx, ctx->side, d < 0 ? ROCE_TURN_BACK : ROCE_TURN_AHEAD, psn);
    if (roce_turn_is_open(req))
        roce_turn_step(ctx, psn, span, guess);
    if (d == 0 || (d < 0 && ctx->conn->sum.svc == ROCE_SVC_UC && d < -ROCE_JUMP)) {
        if (d != 0)
            roce_life_restart(ctx, psn, true);
        if (idle >= KEEP_ALIVE_NS && ctx->pkt->payload_len == 0 &&
            ctx->pkt->op->pos == ROCE_POS_ONLY)
            ctx->result->flags |= ROCE_AN_KEEP_ALIVE;
        ctx->conn->doubt |= req->anew; /* or it did not begin anew after all */
        req->suspect = req->anew = false;
        append(ctx, span, guess);
    } else if (req->anew && roce_opcode_starts(ctx->pkt->op)) {
        roce_life_restart(ctx, psn, true);
        append(ctx, span, guess);
    } else {
        place_late(ctx, d, span, guess);
    }
    req->last_time = ctx->time;
    ctx->result->rel_psn = (psn - req->base) & ROCE_PSN_MASK;
    ctx->result->next_psn = (psn + span) & ROCE_PSN_MASK;
    if (req->base_sure)
        ctx->result->flags |= ROCE_AN_REL_PSN;
    in_flight(ctx, req);
}
