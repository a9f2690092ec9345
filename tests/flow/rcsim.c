/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/rcsim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WQES_MAX 128u
#define EVENTS   4096u

enum op { SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, ATOMIC, AWRITE, FLUSH };

struct wqe {
    enum op op;
    uint32_t len, first, cnt; /* its packets, counted from the first of the connection */
    uint32_t got;             /* READ: packets answered so far */
    bool done;                /* READ, atomic */
    bool out;                 /* sent and not done */
    uint64_t orig;
};

/* A packet on its way. */
struct event {
    uint64_t time;
    int to;
    bool request;
    uint32_t n, skip; /* READ: which packets of it */
    uint8_t opcode, syndrome;
    uint32_t msn, len;
    bool ackreq;
};

struct end {
    /* requester */
    struct wqe wqe[WQES_MAX];
    unsigned wqe_cnt;
    uint32_t total, snd, una, high;
    uint64_t timer, hold;
    uint32_t lsn;
    bool credit_seen;
    uint64_t rto;
    /* responder to the other end */
    uint32_t epsn, msn;
    bool nak, rnr, ack_due;
    uint64_t ack_at;
    uint32_t posted; /* receives */
    struct event rsp[1024];
    unsigned rsp_cnt;
    uint64_t sent_at; /* the latest arrival over there, for packets keep their order */
};

struct sim {
    struct flowgen *g;
    struct rng *rng;
    struct rcsim_opts o;
    uint32_t base[2];
    struct end end[2];
    struct event event[EVENTS];
    unsigned event_cnt;
    uint64_t now;
};

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

static bool chance(struct sim *s, uint32_t permille)
{
    return permille && rng_below(s->rng, 1000) < permille;
}

static bool is_answered(enum op op)
{
    return op >= READ;
}

static bool uses_rq(enum op op)
{
    return op <= SEND_INV || op == WRITE_IMM;
}

static struct wqe *wqe_of(struct end *e, uint32_t n)
{
    for (unsigned i = 0; i < e->wqe_cnt; i++)
        if (n - e->wqe[i].first < e->wqe[i].cnt)
            return &e->wqe[i];
    return NULL;
}

/* ---- the wire ----------------------------------------------------------------------------------
 */

static void capture(struct sim *s, int from, const struct event *v, uint64_t at)
{
    struct flowgen *g = s->g;
    struct roce_pkt p;

    if (v->request) {
        g->conn.psn[from] = (s->base[from] + v->n) & ROCE_PSN_MASK;
        p = flowgen_req(g, from, v->opcode, v->len);
        if (v->opcode == ROCE_OP_RC_READ_REQUEST)
            p.reth.va += (uint64_t)v->skip * g->mtu;
        else {
            const struct wqe *w = wqe_of(&s->end[from], v->n);

            p.reth.dma_len = w->len;
        }
        p.bth.ackreq = v->ackreq;
    } else {
        p = flowgen_resp(g, from, v->opcode, (s->base[!from] + v->n) & ROCE_PSN_MASK, v->len);
        p.aeth.syndrome = v->syndrome;
        p.aeth.msn = v->msn & ROCE_PSN_MASK;
        if (v->opcode == ROCE_OP_RC_ATOMIC_ACK)
            p.atomicacketh.orig = wqe_of(&s->end[!from], v->n)->orig;
    }
    g->now = at - g->step;
    flowgen_put(g, from, &p);
}

static void transmit(struct sim *s, int from, struct event v)
{
    struct end *e = &s->end[from];
    uint64_t delay = s->o.delay + rng_below(s->rng, (uint32_t)s->o.delay / 4 + 1);
    uint64_t share = from == 0 ? s->o.tap : 100 - s->o.tap;
    uint64_t arrival = s->now + delay;

    if (arrival <= e->sent_at)
        arrival = e->sent_at + 100;
    if (chance(s, s->o.loss / 2))
        return;
    e->sent_at = arrival;
    capture(s, from, &v, s->now + (arrival - s->now) * share / 100);
    if (chance(s, s->o.loss / 2))
        return;
    v.time = arrival;
    v.to = !from;
    assert(s->event_cnt < EVENTS);
    s->event[s->event_cnt++] = v;
}

/* ---- requester ---------------------------------------------------------------------------------
 */

static uint8_t opcode_of(const struct wqe *w, uint32_t k)
{
    bool first = k == 0, last = k + 1 == w->cnt;

    switch (w->op) {
    case SEND:
    case SEND_IMM:
    case SEND_INV:
        if (first && last)
            return w->op == SEND       ? ROCE_OP_RC_SEND_ONLY
                   : w->op == SEND_IMM ? ROCE_OP_RC_SEND_ONLY_IMM
                                       : ROCE_OP_RC_SEND_ONLY_INV;
        if (last)
            return w->op == SEND       ? ROCE_OP_RC_SEND_LAST
                   : w->op == SEND_IMM ? ROCE_OP_RC_SEND_LAST_IMM
                                       : ROCE_OP_RC_SEND_LAST_INV;
        return first ? ROCE_OP_RC_SEND_FIRST : ROCE_OP_RC_SEND_MIDDLE;
    case WRITE:
    case WRITE_IMM:
        if (first && last)
            return w->op == WRITE ? ROCE_OP_RC_WRITE_ONLY : ROCE_OP_RC_WRITE_ONLY_IMM;
        if (last)
            return w->op == WRITE ? ROCE_OP_RC_WRITE_LAST : ROCE_OP_RC_WRITE_LAST_IMM;
        return first ? ROCE_OP_RC_WRITE_FIRST : ROCE_OP_RC_WRITE_MIDDLE;
    case READ: return ROCE_OP_RC_READ_REQUEST;
    case ATOMIC: return ROCE_OP_RC_FETCH_ADD;
    case AWRITE: return ROCE_OP_RC_ATOMIC_WRITE;
    default: return ROCE_OP_RC_FLUSH;
    }
}

static uint32_t reads_out(const struct end *e)
{
    uint32_t cnt = 0;

    for (unsigned i = 0; i < e->wqe_cnt; i++)
        cnt += e->wqe[i].out && !e->wqe[i].done;
    return cnt;
}

static bool may_send(struct sim *s, struct end *e, const struct wqe *w)
{
    uint32_t ssn = (uint32_t)(w - e->wqe) + 1;

    if (e->snd - e->una >= s->o.window)
        return false;
    if (is_answered(w->op) && !w->out && reads_out(e) >= s->o.reads)
        return false;
    if (e->credit_seen && uses_rq(w->op) && e->snd == w->first && ssn > e->lsn && e->una < w->first)
        return false; /* beyond the credits: only alone */
    if (e->credit_seen && e->snd == w->first && e->una < e->snd) {
        const struct wqe *before = wqe_of(e, e->snd - 1);

        if (uses_rq(before->op) && (uint32_t)(before - e->wqe) + 1 > e->lsn)
            return false; /* one was sent beyond them */
    }
    return true;
}

static void send_one(struct sim *s, int side)
{
    struct end *e = &s->end[side];
    struct wqe *w;
    struct event v = {.request = true};
    uint32_t k;

    if (e->snd == e->total || s->now < e->hold)
        return;
    w = wqe_of(e, e->snd);
    if (!may_send(s, e, w))
        return;
    k = e->snd - w->first;
    v.n = e->snd;
    v.opcode = opcode_of(w, k);
    v.ackreq = k + 1 == w->cnt ? rng_below(s->rng, 4) != 0 || e->snd + 1 == e->total ||
                                     e->snd + 1 - e->una >= s->o.window
                               : rng_below(s->rng, 8) == 0 || e->snd + 1 - e->una >= s->o.window;
    if (w->op == READ) {
        v.skip = k;
        v.len = w->len - k * s->g->mtu;
        v.ackreq = true;
    } else if (w->op == ATOMIC || w->op == FLUSH)
        v.len = 0;
    else if (w->op == AWRITE)
        v.len = 8;
    else
        v.len = k + 1 < w->cnt ? s->g->mtu : w->len - k * s->g->mtu;
    if (is_answered(w->op)) {
        w->out = true;
        e->snd = w->first + w->cnt;
    } else
        e->snd++;
    if (e->snd > e->high)
        e->high = e->snd;
    if (e->una == v.n || e->timer == 0)
        e->timer = s->now;
    transmit(s, side, v);
}

static void go_back(struct end *e, uint32_t n)
{
    e->snd = n;
}

/* All before `n` is acknowledged; false where a READ or atomic before was not answered. */
static bool acked(struct sim *s, struct end *e, uint32_t n)
{
    bool implied = false;

    if (n <= e->una)
        return true;
    for (unsigned i = 0; i < e->wqe_cnt; i++) {
        const struct wqe *w = &e->wqe[i];

        if (is_answered(w->op) && !w->done && w->first < n) {
            n = w->first + w->got;
            implied = true;
            break;
        }
    }
    if (n > e->una) {
        e->una = n;
        e->timer = s->now;
        if (e->snd < n)
            e->snd = n;
    }
    if (implied)
        go_back(e, e->una);
    return !implied;
}

static void credit(struct end *e, const struct event *v)
{
    uint8_t code = roce_syndrome_code(v->syndrome);

    if (roce_syndrome_kind(v->syndrome) != ROCE_SYN_ACK)
        return;
    e->credit_seen = code != ROCE_CREDIT_NONE;
    if (e->credit_seen && v->msn + roce_credits(code) > e->lsn)
        e->lsn = v->msn + roce_credits(code);
}

static void on_response(struct sim *s, int side, const struct event *v)
{
    struct end *e = &s->end[side];
    struct wqe *w = wqe_of(e, v->n);

    if (v->n + 1 > e->high + 1 || (v->n != UINT32_MAX && v->n >= e->high))
        return; /* a NAK names at most what was sent */
    if (v->opcode == ROCE_OP_RC_ACK) {
        credit(e, v);
        switch (roce_syndrome_kind(v->syndrome)) {
        case ROCE_SYN_ACK: (void)acked(s, e, v->n + 1); break;
        case ROCE_SYN_RNR:
            if (v->n < e->una || !acked(s, e, v->n))
                break;
            go_back(e, v->n);
            e->timer = s->now;
            e->hold =
                s->now + roce_rnr_ns(roce_syndrome_code(v->syndrome)) + rng_below(s->rng, 50000);
            break;
        default:
            if (v->n < e->una || !acked(s, e, v->n))
                break;
            go_back(e, v->n);
        }
        return;
    }
    if (!w || !is_answered(w->op) || w->done || !acked(s, e, w->first))
        return;
    if (w->op != READ) {
        w->done = true;
        w->got = 1;
        (void)acked(s, e, v->n + 1);
        return;
    }
    if (v->n - w->first > w->got) { /* some are missing */
        e->una = w->first + w->got;
        if (e->snd > e->una)
            go_back(e, e->una);
        return;
    }
    if (v->n - w->first < w->got)
        return;
    w->got++;
    e->timer = s->now;
    if (w->got == w->cnt) {
        w->done = true;
        (void)acked(s, e, w->first + w->cnt);
    } else
        e->una = w->first + w->got;
    if (e->snd < e->una)
        e->snd = e->una;
    if (!w->done && e->snd > w->first && e->snd < w->first + w->cnt && e->snd == e->una)
        e->snd = w->first + w->cnt > e->high ? e->high : e->snd;
}

/* ---- responder ---------------------------------------------------------------------------------
 */

static uint8_t positive(struct sim *s, struct end *e)
{
    return (uint8_t)(ROCE_SYNDROME_ACK |
                     (s->o.credits ? roce_credit_code(e->posted) : ROCE_CREDIT_NONE));
}

static void answer(struct end *e, struct event v)
{
    if (e->rsp_cnt < 1024)
        e->rsp[e->rsp_cnt++] = v;
}

static void flush_ack(struct sim *s, struct end *e)
{
    if (!e->ack_due)
        return;
    e->ack_due = false;
    answer(e, (struct event){.n = e->epsn - 1,
                             .opcode = ROCE_OP_RC_ACK,
                             .syndrome = positive(s, e),
                             .msn = e->msn});
}

static void read_responses(struct sim *s, struct end *e, const struct wqe *w, uint32_t from,
                           bool fresh)
{
    bool late = fresh && rng_below(s->rng, 2); /* it counts from its last response on */

    for (uint32_t k = from; k < w->cnt; k++) {
        bool first = k == from, last = k + 1 == w->cnt;

        answer(e, (struct event){.n = w->first + k,
                                 .opcode = first && last ? ROCE_OP_RC_READ_RESP_ONLY
                                           : first       ? ROCE_OP_RC_READ_RESP_FIRST
                                           : last        ? ROCE_OP_RC_READ_RESP_LAST
                                                         : ROCE_OP_RC_READ_RESP_MIDDLE,
                                 .syndrome = positive(s, e),
                                 .msn = e->msn - (late && first && !last && from == 0),
                                 .len = last ? w->len - k * s->g->mtu : s->g->mtu});
    }
}

/* The one response of an atomic, of ATOMIC WRITE, of FLUSH. */
static void small_response(struct sim *s, struct end *e, const struct wqe *w)
{
    answer(e, (struct event){.n = w->first,
                             .opcode = w->op == ATOMIC ? ROCE_OP_RC_ATOMIC_ACK
                                                       : ROCE_OP_RC_READ_RESP_ONLY,
                             .syndrome = positive(s, e),
                             .msn = e->msn});
}

static void on_request(struct sim *s, int side, const struct event *v)
{
    struct end *e = &s->end[side];
    struct wqe *w = wqe_of(&s->end[!side], v->n);

    if (v->n > e->epsn) {
        if (e->nak || e->rnr)
            return;
        flush_ack(s, e);
        e->nak = true;
        answer(e, (struct event){.n = e->epsn,
                                 .opcode = ROCE_OP_RC_ACK,
                                 .syndrome = ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ,
                                 .msn = e->msn});
        return;
    }
    if (v->n < e->epsn) { /* a duplicate */
        flush_ack(s, e);
        if (w->op == READ)
            read_responses(s, e, w, v->skip, false);
        else if (is_answered(w->op))
            small_response(s, e, w);
        else if (v->ackreq || rng_below(s->rng, 2)) {
            e->ack_due = true;
            flush_ack(s, e);
        }
        return;
    }
    e->nak = e->rnr = false;
    if (uses_rq(w->op) && (w->op == WRITE_IMM ? v->n + 1 == w->first + w->cnt : v->n == w->first)) {
        if (e->posted == 0 || chance(s, s->o.rnr)) {
            flush_ack(s, e);
            e->rnr = true;
            e->posted += 1 + rng_below(s->rng, 4);
            answer(e, (struct event){.n = v->n,
                                     .opcode = ROCE_OP_RC_ACK,
                                     .syndrome = ROCE_SYNDROME_RNR | s->o.rnr_code,
                                     .msn = e->msn});
            return;
        }
    }
    if (w->op == READ) {
        e->epsn += w->cnt - v->skip;
        e->msn++;
        e->ack_due = false;
        read_responses(s, e, w, v->skip, true);
        return;
    }
    e->epsn++;
    if (e->epsn == w->first + w->cnt) {
        e->msn++;
        e->posted -= uses_rq(w->op);
    }
    if (is_answered(w->op)) {
        e->ack_due = false;
        if (w->op == ATOMIC)
            w->orig = rng_u64(s->rng);
        small_response(s, e, w);
    } else if (v->ackreq || rng_below(s->rng, 20) == 0) {
        if (!e->ack_due)
            e->ack_at = s->now + (rng_below(s->rng, 2) ? 0 : rng_below(s->rng, 20000));
        e->ack_due = true;
    }
}

static void respond(struct sim *s, int side)
{
    struct end *e = &s->end[side];

    if (e->ack_due && s->now >= e->ack_at && e->rsp_cnt < 2)
        flush_ack(s, e);
    if (s->o.credits && e->posted < 8 && rng_below(s->rng, 40) == 0) {
        e->posted += 1 + rng_below(s->rng, 8);
        if (rng_below(s->rng, 2) && e->epsn) { /* unsolicited */
            e->ack_due = true;
            flush_ack(s, e);
        }
    } else if (!s->o.credits && e->posted < 1000)
        e->posted += 8;
    if (e->rsp_cnt) {
        struct event v = e->rsp[0];

        memmove(e->rsp, e->rsp + 1, --e->rsp_cnt * sizeof(v));
        transmit(s, side, v);
    }
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static void post(struct sim *s, int side)
{
    struct end *e = &s->end[side];
    unsigned cnt = side && !s->o.both_ways ? 0 : 1 + rng_below(s->rng, s->o.messages);
    struct rng same = rng_of(s->o.same * 2 + (unsigned)side + 1);

    if (s->o.same && cnt)
        cnt = s->o.messages;
    for (unsigned i = 0; i < cnt && i < WQES_MAX; i++) {
        struct rng *rng = s->o.same && i < cnt / 2 ? &same : s->rng;
        struct wqe *w = &e->wqe[e->wqe_cnt++];
        uint32_t mtu = s->g->mtu;

        w->op = (enum op)rng_below(rng, s->o.extensions ? 9 : 7);
        w->len = rng_below(rng, 3) ? rng_below(rng, 5 * mtu) : rng_below(rng, 6) * mtu;
        if (w->op > READ)
            w->len = 8;
        w->first = e->total;
        w->cnt = w->op > READ ? 1 : roce_psn_cnt(w->len, mtu);
        e->total += w->cnt;
    }
}

static bool arrive(struct sim *s)
{
    unsigned next = s->event_cnt;

    for (unsigned i = 0; i < s->event_cnt; i++)
        if (s->event[i].time <= s->now &&
            (next == s->event_cnt || s->event[i].time < s->event[next].time))
            next = i;
    if (next == s->event_cnt)
        return false;
    struct event v = s->event[next];

    s->event[next] = s->event[--s->event_cnt];
    if (v.request)
        on_request(s, v.to, &v);
    else
        on_response(s, v.to, &v);
    return true;
}

/* When something happens next, where nothing can be sent now. */
static void pass(struct sim *s)
{
    s->now += 200 + rng_below(s->rng, 800);
    for (int i = 0; i < 2; i++) {
        struct end *e = &s->end[i];

        if (e->una < e->total && e->una < e->high && s->now >= e->hold && e->timer &&
            s->now - e->timer > e->rto) {
            go_back(e, e->una);
            e->timer = s->now;
        }
    }
}

static bool busy(const struct sim *s)
{
    return s->event_cnt || s->end[0].rsp_cnt || s->end[1].rsp_cnt || s->end[0].ack_due ||
           s->end[1].ack_due;
}

bool rcsim_talk(struct flowgen *g, struct rng *rng, const struct rcsim_opts *opts)
{
    struct sim *s = calloc(1, sizeof(*s));
    uint64_t start = g->now;
    bool done;

    assert(s);
    s->g = g;
    s->rng = rng;
    s->o = *opts;
    s->now = start + 1000000;
    for (int i = 0; i < 2; i++) {
        struct end *e = &s->end[i];

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
                respond(s, i);
            if (rng_below(rng, 2))
                send_one(s, i);
        }
        if (!busy(s) && rng_below(rng, 4)) /* nothing on its way: until a timer */
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
