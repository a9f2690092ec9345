/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "rcsim.h"

#include <assert.h>
#include <stdlib.h>
#include "rcsim_ends.h"

struct rcsim_opts rcsim_any(struct rng *rng)
{
    struct rcsim_opts o = {.messages = 4 + rng_below(rng, 40),
                           .loss = rng_below(rng, 3) ? rng_below(rng, 60) : 0,
                           .window = 1 + rng_below(rng, 40),
                           .reads = 1 + rng_below(rng, rng_below(rng, 2) ? 4 : 64),
                           .rnr = rng_below(rng, 3) ? 0 : rng_below(rng, 300),
                           .rnr_code = (uint8_t)(1 + rng_below(rng, 20)),
                           .credits = rng_below(rng, 2),
                           .extensions = rng_below(rng, 3) == 0,
                           .both_ways = rng_below(rng, 2),
                           .timeout = UINT64_C(67108864),
                           .delay = 1000 + rng_below(rng, 100000),
                           .tap = rng_below(rng, 3) * 50};

    return o;
}

bool rcsim_chance(struct rcsim *s, uint32_t permille)
{
    return permille && rng_below(s->rng, 1000) < permille;
}

/* ---- frames on the wire ---------------------------------------------------------------------- */

static void capture(struct rcsim *s, int from, const struct rcsim_event *v, uint64_t at)
{
    struct flowgen *g = s->g;
    struct roce_pkt p;

    if (v->request) {
        g->conn.psn[from] = (s->base[from] + v->n) & ROCE_PSN_MASK;
        p = flowgen_req(g, from, v->opcode, v->len);
        if (v->opcode == ROCE_OP_RC_READ_REQUEST)
            p.reth.va += (uint64_t)v->skip * g->mtu;
        else {
            const struct rcsim_wqe *w = rcsim_wqe_of(&s->end[from], v->n);

            p.reth.dma_len = w->len;
        }
        p.bth.ackreq = v->ackreq;
    } else {
        p = flowgen_resp(g, from, v->opcode, (s->base[!from] + v->n) & ROCE_PSN_MASK, v->len);
        p.aeth.syndrome = v->syndrome;
        p.aeth.msn = v->msn & ROCE_PSN_MASK;
        if (v->opcode == ROCE_OP_RC_ATOMIC_ACK)
            p.atomicacketh.orig = rcsim_wqe_of(&s->end[!from], v->n)->orig;
    }
    g->now = at - g->step;
    flowgen_put(g, from, &p);
}

void rcsim_transmit(struct rcsim *s, int from, struct rcsim_event v)
{
    struct rcsim_end *e = &s->end[from];
    uint64_t delay = s->o.delay + rng_below(s->rng, (uint32_t)s->o.delay / 4 + 1);
    uint64_t share = from == 0 ? s->o.tap : 100 - s->o.tap;
    uint64_t arrival = s->now + delay;

    if (arrival <= e->sent_at)
        arrival = e->sent_at + 100;
    if (rcsim_chance(s, s->o.loss / 2))
        return;
    e->sent_at = arrival;
    capture(s, from, &v, s->now + (arrival - s->now) * share / 100);
    if (rcsim_chance(s, s->o.loss / 2))
        return;
    v.time = arrival;
    v.to = !from;
    assert(s->event_cnt < RCSIM_EVENTS);
    s->event[s->event_cnt++] = v;
}

/* ---- running the simulation ------------------------------------------------------------------ */

static void post(struct rcsim *s, int side)
{
    struct rcsim_end *e = &s->end[side];
    unsigned cnt = side && !s->o.both_ways ? 0 : 1 + rng_below(s->rng, s->o.messages);
    struct rng same = rng_of(s->o.same * 2 + (unsigned)side + 1);

    if (s->o.same && cnt)
        cnt = s->o.messages;
    for (unsigned i = 0; i < cnt && i < RCSIM_WQES; i++) {
        struct rng *rng = s->o.same && i < cnt / 2 ? &same : s->rng;
        struct rcsim_wqe *w = &e->wqe[e->wqe_cnt++];
        uint32_t mtu = s->g->mtu;

        w->op = (enum rcsim_op)rng_below(rng, s->o.extensions ? 9 : 7);
        w->len = rng_below(rng, 3) ? rng_below(rng, 5 * mtu) : rng_below(rng, 6) * mtu;
        if (w->op > READ)
            w->len = 8;
        w->first = e->total;
        w->cnt = w->op > READ ? 1 : roce_psn_cnt(w->len, mtu);
        e->total += w->cnt;
    }
}

static bool arrive(struct rcsim *s)
{
    unsigned next = s->event_cnt;

    for (unsigned i = 0; i < s->event_cnt; i++)
        if (s->event[i].time <= s->now &&
            (next == s->event_cnt || s->event[i].time < s->event[next].time))
            next = i;
    if (next == s->event_cnt)
        return false;
    struct rcsim_event v = s->event[next];

    s->event[next] = s->event[--s->event_cnt];
    if (v.request)
        rcsim_on_request(s, v.to, &v);
    else
        rcsim_on_response(s, v.to, &v);
    return true;
}

/* Advances the time by a random step. If the ACK timeout of an end expires, that end will
 * retransmit all unacknowledged packets. */
static void pass(struct rcsim *s)
{
    s->now += 200 + rng_below(s->rng, 800);
    for (int i = 0; i < 2; i++) {
        struct rcsim_end *e = &s->end[i];

        if (e->una < e->total && e->una < e->high && s->now >= e->hold && e->timer &&
            s->now - e->timer > e->rto) {
            e->snd = e->una;
            e->timer = s->now;
        }
    }
}

static bool busy(const struct rcsim *s)
{
    return s->event_cnt || s->end[0].rsp_cnt || s->end[1].rsp_cnt || s->end[0].ack_due ||
           s->end[1].ack_due;
}

bool rcsim_talk(struct flowgen *g, struct rng *rng, const struct rcsim_opts *opts)
{
    struct rcsim *s = calloc(1, sizeof(*s));
    uint64_t start = g->now;
    bool done;

    assert(s);
    s->g = g;
    s->rng = rng;
    s->o = *opts;
    s->now = start + 1000000;
    for (int i = 0; i < 2; i++) {
        struct rcsim_end *e = &s->end[i];

        s->base[i] = g->conn.psn[i];
        e->rto = opts->timeout + rng_below(rng, (uint32_t)opts->timeout);
        e->posted = 4 + rng_below(rng, 8);
        post(s, i);
    }
    for (unsigned rounds = 0; rounds < 400000; rounds++) {
        bool idle = s->end[0].una == s->end[0].total && s->end[1].una == s->end[1].total;

        if (idle && !busy(s))
            break;
        while (arrive(s))
            ;
        for (int i = 0; i < 2; i++) {
            if (rng_below(rng, 2))
                rcsim_respond(s, i);
            if (rng_below(rng, 2))
                rcsim_send_one(s, i);
        }
        if (!busy(s) && rng_below(rng, 4)) /* nothing can happen before a timer expires, so take a
                                            * larger time step */
            s->now += 400000;
        pass(s);
    }
    done = s->end[0].una == s->end[0].total && s->end[1].una == s->end[1].total;
    g->now = s->now;
    for (int i = 0; i < 2; i++) {
        g->conn.psn[i] = (s->base[i] + s->end[i].total) & ROCE_PSN_MASK;
        g->conn.msn[i] = s->end[i].wqe_cnt;
    }
    free(s);
    return done;
}

static int by_time(const void *a, const void *b)
{
    const struct flowgen_frame *x = a, *y = b;

    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->off > y->off) - (x->off < y->off);
}

void rcsim_sort(struct flowgen *g)
{
    qsort(g->frame, g->frame_cnt, sizeof(*g->frame), by_time);
}
