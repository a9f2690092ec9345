/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/truth.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW    64u                /* PSNs outstanding, and a READ more */
#define READS     4u                 /* and atomics */
#define TIMEOUT   UINT64_C(67108864) /* code 14 */
#define RETRIES   6u
#define RNR_CODE  8u /* 160 us */
#define QUEUE     65536u
#define NEVER     UINT64_MAX
#define RNR_TRIES 6u

struct msg {
    enum roce_oper oper;
    uint32_t len, first, span; /* positions: PSNs from the first one */
};

/* A packet with what its sender knows of it. */
struct item {
    struct roce_pkt pkt;
    int side;
    uint32_t conn;
    bool request;
    uint32_t pos, span;
    uint32_t go; /* the go-back that sent it again; 0 the first time */
    enum roce_cause cause;
    bool copied;
};

enum what {
    SLOT,    /* a host may send */
    TIMER,   /* of an end */
    PASSES,  /* a packet passes the capture point */
    ARRIVES, /* and reaches the other host */
};

struct event {
    uint64_t time, order;
    struct item *item;
    enum what what;
    int side;
    uint32_t conn;
};

struct end {
    struct msg *msg;
    uint32_t msgs, total; /* total: positions */
    /* requester */
    uint32_t una, nxt, high, go, reads_out;
    enum roce_cause cause;
    bool went_back, stuck;
    uint64_t timer, armed, rnr_until;
    uint32_t tries, rnr_tries;
    uint32_t read_from; /* a READ goes on here after a go-back */
    /* responder */
    uint32_t epos, msn;
    bool nak_sent, rnr_sent;
    uint32_t rnr_pos, rnr_left;
    struct item **queue;
    uint32_t q_head, q_cnt;
    /* at the capture point */
    uint32_t seen_end, seen_go;
    uint64_t seen_last;
    uint64_t *seen; /* time, by position; 0 not */
};

struct net {
    const struct truth_opts *o;
    struct flowgen *g;
    struct truth *t;
    struct end end[TRUTH_CONNS][2];
    struct event *heap;
    size_t cnt, cap;
    uint64_t now, order, dead;
    uint16_t id[2];
    uint32_t burst[2][2]; /* packets still to be lost, by part of the way and sender */
    uint32_t turn[2];
    uint64_t busy[2]; /* its wire, until then */
    bool slot[2];     /* a SLOT is under way */
};

/* ---- events ------------------------------------------------------------------------------------
 */

static bool earlier(const struct event *a, const struct event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void push(struct net *n, uint64_t time, struct item *item, enum what what, int side,
                 uint32_t conn)
{
    struct event e = {time, ++n->order, item, what, side, conn};
    size_t i = n->cnt++;

    if (n->cnt > n->cap) {
        n->cap = n->cap * 2 + 256;
        n->heap = realloc(n->heap, n->cap * sizeof(*n->heap));
        assert(n->heap);
    }
    for (; i > 0 && earlier(&e, &n->heap[(i - 1) / 2]); i = (i - 1) / 2)
        n->heap[i] = n->heap[(i - 1) / 2];
    n->heap[i] = e;
}

static struct event pop(struct net *n)
{
    struct event top = n->heap[0], last = n->heap[--n->cnt];
    size_t i = 0, k;

    while ((k = 2 * i + 1) < n->cnt) {
        if (k + 1 < n->cnt && earlier(&n->heap[k + 1], &n->heap[k]))
            k++;
        if (!earlier(&n->heap[k], &last))
            break;
        n->heap[i] = n->heap[k];
        i = k;
    }
    n->heap[i] = last;
    return top;
}

/* The host may send as soon as its wire is free. */
static void wake(struct net *n, int side)
{
    if (n->slot[side])
        return;
    n->slot[side] = true;
    push(n, n->busy[side] > n->now ? n->busy[side] : n->now, NULL, SLOT, side, 0);
}

static void arm(struct net *n, uint32_t conn, int side, uint64_t at)
{
    struct end *e = &n->end[conn][side];

    if (e->armed && e->armed <= at)
        return;
    e->armed = at;
    push(n, at, NULL, TIMER, side, conn);
}

/* ---- the way -----------------------------------------------------------------------------------
 */

static enum truth_kind kind_of(const struct item *i)
{
    switch (i->pkt.op->kind) {
    case ROCE_KIND_SEND:
    case ROCE_KIND_WRITE: return TRUTH_MESSAGE;
    case ROCE_KIND_READ:
    case ROCE_KIND_FETCH_ADD: return TRUTH_READ;
    case ROCE_KIND_ACK:
        return roce_syndrome_kind(i->pkt.aeth.syndrome) == ROCE_SYN_ACK ? TRUTH_ACK : TRUTH_NAK;
    default: return TRUTH_DATA;
    }
}

static void pass(struct net *n, struct item *i);
static void arrive(struct net *n, struct item *i);

/* Sends `i` over part `part` of the way; it is given away. */
static void travel(struct net *n, struct item *i, int part, enum what what)
{
    const struct truth_way *w = part ? &n->o->after : &n->o->before;
    uint32_t *burst = &n->burst[part][i->side];
    uint64_t at = n->now + w->delay_ns;

    if (w->lost[kind_of(i)] && (*burst || rng_below(n->o->rng, 1000) < w->lost[kind_of(i)])) {
        *burst = *burst ? *burst - 1 : w->burst ? w->burst - 1 : 0;
        n->t->lost++;
        free(i);
        return;
    }
    if (part && n->now > n->dead) {
        free(i);
        return;
    }
    if (w->twice && rng_below(n->o->rng, 1000) < w->twice) {
        struct item *c = malloc(sizeof(*c));

        assert(c);
        *c = *i;
        c->copied = true;
        push(n, at + 500, c, what, i->side, i->conn);
    }
    if (w->late && rng_below(n->o->rng, 1000) < w->late)
        at += 1 + rng_below(n->o->rng, w->late_ns);
    if (at > n->now)
        push(n, at, i, what, i->side, i->conn);
    else if (what == PASSES)
        pass(n, i);
    else
        arrive(n, i);
}

/* ---- the capture point -------------------------------------------------------------------------
 */

static const struct msg *msg_at(const struct end *e, uint32_t pos)
{
    uint32_t low = 0, high = e->msgs;

    while (low + 1 < high) {
        uint32_t mid = (low + high) / 2;

        if (e->msg[mid].first <= pos)
            low = mid;
        else
            high = mid;
    }
    return &e->msg[low];
}

static void count_request(struct net *n, const struct item *i, struct truth_side *s)
{
    struct end *e = &n->end[i->conn][i->side];
    const struct msg *m = msg_at(e, i->pos);
    bool first = e->seen[i->pos] == 0;

    s->messages[m->oper] +=
        i->pos + i->span == m->first + m->span && !e->seen[i->pos + i->span - 1];

    if (i->go && i->pos < e->seen_end) { /* else nothing shows that it was sent before */
        if (i->go != e->seen_go) {
            e->seen_go = i->go;
            s->retx_episodes[i->cause]++;
            s->stalled_ns[i->cause] += n->now - (first ? e->seen_last : e->seen[i->pos]);
        }
        s->retx_packets[i->cause]++;
        s->retx_bytes[i->cause] += i->pkt.payload_len;
    } else if (i->pos < e->seen_end) {
        s->out_of_order++;
    }
    if (e->seen_last == 0 && !n->o->cm)
        e->seen_end = i->pos; /* that there was one before is not known */
    if (i->pos > e->seen_end)
        s->missing += i->pos - e->seen_end;
    if (i->pos + i->span > e->seen_end)
        e->seen_end = i->pos + i->span;
    for (uint32_t k = 0; k < i->span; k++)
        e->seen[i->pos + k] = n->now;
    e->seen_last = n->now;
}

static void capture(struct net *n, const struct item *i, bool again)
{
    struct truth_side *s = &n->t->side[i->conn][i->side];

    n->g->now = n->now;
    flowgen_put(n->g, i->side, &i->pkt);
    s->packets++;
    if (again || i->copied) {
        s->copies++;
        return;
    }
    if (i->request)
        count_request(n, i, s);
    else if (i->pkt.op->kind == ROCE_KIND_ACK) {
        s->psn_naks += roce_syndrome_kind(i->pkt.aeth.syndrome) == ROCE_SYN_NAK;
        s->rnr_naks += roce_syndrome_kind(i->pkt.aeth.syndrome) == ROCE_SYN_RNR;
    }
}

/* ---- the responder -----------------------------------------------------------------------------
 */

/* A response by side `side` to position `pos` of the other. */
static void respond(struct net *n, uint32_t conn, int side, uint8_t op, uint32_t pos, uint32_t len,
                    uint8_t syndrome)
{
    struct end *e = &n->end[conn][side];
    struct item *i = calloc(1, sizeof(*i));

    assert(i && e->q_cnt < QUEUE);
    n->g->conn = n->t->conn[conn];
    i->pkt = flowgen_resp(n->g, side, op, n->t->conn[conn].psn[!side] + pos, len);
    i->pkt.aeth.syndrome = syndrome;
    i->pkt.aeth.msn = e->msn & ROCE_PSN_MASK;
    i->pkt.atomicacketh.orig = pos;
    i->side = side;
    i->conn = conn;
    e->queue[(e->q_head + e->q_cnt++) % QUEUE] = i;
    wake(n, side);
}

static void answer(struct net *n, const struct item *i, const struct msg *m)
{
    int side = !i->side;
    uint32_t mtu = n->o->mtu, off = i->pos - m->first;
    uint8_t base = ROCE_OP_RC_READ_RESP_FIRST;

    if (m->oper == ROCE_OPER_ATOMIC) {
        respond(n, i->conn, side, ROCE_OP_RC_ATOMIC_ACK, i->pos, 0, ROCE_CREDIT_NONE);
        return;
    }
    for (uint32_t k = off; k < m->span; k++) { /* First, Middle, Last, Only */
        bool first = k == off, last = k + 1 == m->span;
        uint8_t op = (uint8_t)(base + (first ? (last ? 3 : 0) : last ? 2 : 1));

        respond(n, i->conn, side, op, m->first + k, last ? m->len - k * mtu : mtu,
                ROCE_CREDIT_NONE);
    }
}

static void take_request(struct net *n, const struct item *i)
{
    int side = !i->side;
    struct end *e = &n->end[i->conn][side];
    const struct msg *m = msg_at(&n->end[i->conn][i->side], i->pos);
    bool saved = m->oper == ROCE_OPER_READ || m->oper == ROCE_OPER_ATOMIC;

    if (i->pos > e->epos) {
        if (!e->nak_sent && !e->rnr_sent) {
            e->nak_sent = true;
            respond(n, i->conn, side, ROCE_OP_RC_ACK, e->epos, 0,
                    ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
        }
        return;
    }
    if (i->pos < e->epos) {
        if (saved)
            answer(n, i, m);
        else if (i->pkt.bth.ackreq)
            respond(n, i->conn, side, ROCE_OP_RC_ACK, e->epos - 1, 0, ROCE_CREDIT_NONE);
        return;
    }
    e->nak_sent = false;
    if (m->oper == ROCE_OPER_SEND && i->pos == m->first) {
        if (e->rnr_pos != i->pos) {
            e->rnr_pos = i->pos;
            e->rnr_left = rng_below(n->o->rng, 1000) < n->o->rnr ? 1 + rng_below(n->o->rng, 3) : 0;
        }
        if (e->rnr_left) {
            e->rnr_left--;
            e->rnr_sent = true;
            respond(n, i->conn, side, ROCE_OP_RC_ACK, i->pos, 0, ROCE_SYNDROME_RNR | RNR_CODE);
            return;
        }
    }
    e->rnr_sent = false;
    e->epos += i->span;
    e->msn += e->epos == m->first + m->span;
    if (saved)
        answer(n, i, m);
    else if (i->pkt.bth.ackreq)
        respond(n, i->conn, side, ROCE_OP_RC_ACK, i->pos, 0, ROCE_CREDIT_NONE);
}

/* ---- the requester -----------------------------------------------------------------------------
 */

static void go_back(struct end *e, enum roce_cause cause)
{
    e->go++;
    e->cause = cause;
    e->nxt = e->una;
    e->timer = NEVER;
}

static uint64_t patience(struct net *n)
{
    /* Not past 100 ms: without CM messages it may be another use of the QPs then. */
    return n->now + TIMEOUT + rng_below(n->o->rng, 30000000);
}

static void progress(struct net *n, struct end *e, uint32_t to)
{
    if (to <= e->una)
        return;
    e->una = to;
    if (e->nxt < to)
        e->nxt = to;
    e->went_back = false;
    e->tries = e->rnr_tries = 0;
    e->timer = e->una < e->high ? patience(n) : NEVER;
}

/* Goes back for a NAK of any kind, once. */
static void refuse(struct end *e, enum roce_cause cause)
{
    if (e->went_back || e->nxt <= e->una)
        return;
    e->went_back = true;
    go_back(e, cause);
}

/* All before `to` is acknowledged, as far as no READ or atomic is in the way. */
static bool acknowledge(struct net *n, struct end *e, struct truth_side *s, uint32_t to)
{
    while (e->una < to) {
        const struct msg *m = msg_at(e, e->una);
        uint32_t last = m->first + m->span;

        if (m->oper == ROCE_OPER_READ || m->oper == ROCE_OPER_ATOMIC)
            return false;
        progress(n, e, to < last ? to : last);
        if (e->una == last) {
            s->completed[m->oper]++;
            s->bytes[m->oper] += m->len;
        }
    }
    return true;
}

static void take_response(struct net *n, const struct item *i)
{
    struct end *e = &n->end[i->conn][!i->side];
    struct truth_side *s = &n->t->side[i->conn][!i->side];
    uint32_t base = n->t->conn[i->conn].psn[!i->side];
    uint32_t pos = (i->pkt.bth.psn - base) & ROCE_PSN_MASK;
    uint8_t syndrome = i->pkt.aeth.syndrome;
    const struct msg *m;

    if (e->stuck || pos >= e->high || pos < e->una)
        return;
    if (i->pkt.op->kind == ROCE_KIND_ACK) {
        if (roce_syndrome_kind(syndrome) == ROCE_SYN_ACK) {
            if (!acknowledge(n, e, s, pos + 1))
                refuse(e, ROCE_CAUSE_IMPLIED_NAK);
        } else if (!acknowledge(n, e, s, pos)) {
            refuse(e, ROCE_CAUSE_IMPLIED_NAK);
        } else if (roce_syndrome_kind(syndrome) == ROCE_SYN_NAK) {
            refuse(e, ROCE_CAUSE_SEQ_NAK);
        } else if (n->now >= e->rnr_until) {
            if (++e->rnr_tries > RNR_TRIES)
                e->stuck = true;
            if (e->nxt > e->una)
                go_back(e, ROCE_CAUSE_RNR_NAK);
            e->rnr_until = n->now + roce_rnr_ns(RNR_CODE);
            arm(n, i->conn, !i->side, e->rnr_until);
        }
        return;
    }
    m = msg_at(e, pos);
    if (!acknowledge(n, e, s, m->first)) {
        refuse(e, ROCE_CAUSE_IMPLIED_NAK);
        return;
    }
    if (pos > e->una) {
        refuse(e, ROCE_CAUSE_READ_GAP);
        return;
    }
    progress(n, e, pos + 1);
    if (e->una == m->first + m->span) {
        s->completed[m->oper]++;
        s->bytes[m->oper] += m->oper == ROCE_OPER_ATOMIC ? 8 : m->len;
        e->reads_out--;
    }
}

/* The next request of an end; NULL: it has to wait. */
static struct item *request(struct net *n, uint32_t conn, int side)
{
    struct end *e = &n->end[conn][side];
    const struct msg *m;
    struct item *i;
    uint32_t k, mtu = n->o->mtu;
    bool saved;
    uint8_t op;

    if (e->stuck || e->nxt >= e->total || e->nxt - e->una >= WINDOW || n->now < e->rnr_until)
        return NULL;
    m = msg_at(e, e->nxt);
    saved = m->oper == ROCE_OPER_READ || m->oper == ROCE_OPER_ATOMIC;
    if (saved && e->nxt >= e->high && e->reads_out >= READS)
        return NULL;
    k = e->nxt - m->first;
    i = calloc(1, sizeof(*i));
    assert(i);
    n->g->conn = n->t->conn[conn];
    n->g->conn.psn[side] = (n->g->conn.psn[side] + e->nxt) & ROCE_PSN_MASK;
    if (m->oper == ROCE_OPER_READ) {
        i->pkt = flowgen_req(n->g, side, ROCE_OP_RC_READ_REQUEST, m->len - k * mtu);
        i->pkt.reth.va += (uint64_t)k * mtu;
    } else if (m->oper == ROCE_OPER_ATOMIC) {
        i->pkt = flowgen_req(n->g, side, ROCE_OP_RC_FETCH_ADD, 0);
    } else {
        op = m->oper == ROCE_OPER_SEND ? ROCE_OP_RC_SEND_FIRST : ROCE_OP_RC_WRITE_FIRST;
        op = (uint8_t)(op + (m->span == 1 ? 4 : k == 0 ? 0 : k + 1 < m->span ? 1 : 2));
        i->pkt = flowgen_req(n->g, side, op, k + 1 < m->span ? mtu : m->len - k * mtu);
        i->pkt.reth.dma_len = m->len;
        i->pkt.bth.ackreq |= n->o->svc != ROCE_SVC_UC && k % 16 == 15;
    }
    i->side = side;
    i->conn = conn;
    i->request = true;
    i->pos = e->nxt;
    i->span = saved ? m->span - k : 1;
    i->go = e->nxt < e->high ? e->go : 0;
    i->cause = e->cause;
    e->nxt += i->span;
    if (e->nxt > e->high) {
        e->high = e->nxt;
        e->reads_out += saved;
    }
    e->timer = patience(n);
    if (n->o->svc == ROCE_SVC_UC) {
        e->una = e->nxt;
        e->timer = NEVER;
        return i;
    }
    arm(n, conn, side, e->timer);
    return i;
}

/* ---- hosts -------------------------------------------------------------------------------------
 */

static void timer(struct net *n, uint32_t conn, int side)
{
    struct end *e = &n->end[conn][side];

    e->armed = 0;
    if (n->now < e->timer) {
        if (e->timer != NEVER)
            arm(n, conn, side, e->timer);
    } else if (e->tries++ == RETRIES) {
        e->stuck = true;
        e->timer = NEVER;
    } else {
        e->went_back = false;
        go_back(e, ROCE_CAUSE_TIMEOUT);
    }
    wake(n, side);
}

static void host(struct net *n, int side)
{
    uint32_t conns = n->o->conns;

    n->slot[side] = false;
    for (uint32_t tries = 0; tries < conns; tries++) {
        uint32_t c = n->turn[side]++ % conns;
        struct end *e = &n->end[c][side];
        struct item *i;

        if (e->q_cnt) {
            i = e->queue[e->q_head];
            e->q_head = (e->q_head + 1) % QUEUE;
            e->q_cnt--;
        } else if (!(i = request(n, c, side))) {
            continue;
        }
        if (++n->id[side] == 0)
            n->id[side] = 1;
        i->pkt.ip4.id = n->id[side];
        if (n->o->two_points)
            capture(n, i, false);
        travel(n, i, side, PASSES);
        n->busy[side] = n->now + n->o->step_ns;
        wake(n, side);
        return;
    }
}

static void pass(struct net *n, struct item *i)
{
    if (!n->o->two_points)
        capture(n, i, false);
    travel(n, i, !i->side, ARRIVES);
}

static void arrive(struct net *n, struct item *i)
{
    if (n->o->two_points)
        capture(n, i, true);
    if (n->o->svc == ROCE_SVC_UC)
        ; /* nothing answers */
    else if (i->request)
        take_request(n, i);
    else
        take_response(n, i);
    wake(n, !i->side);
    free(i);
}

static void plan(struct net *n, struct end *e, uint32_t messages)
{
    struct rng *rng = n->o->rng;
    uint32_t kinds = n->o->kinds ? n->o->kinds : 0xF;

    e->msgs = messages;
    e->msg = calloc(messages + 1, sizeof(*e->msg));
    e->queue = calloc(QUEUE, sizeof(struct item *));
    assert(e->msg && e->queue);
    for (uint32_t i = 0; i < e->msgs; i++) {
        struct msg *m = &e->msg[i];

        do
            m->oper = (enum roce_oper)rng_below(rng, 4);
        while (!(kinds >> m->oper & 1));
        m->len = rng_below(rng, 1 + (rng_below(rng, 2) ? n->o->max_len : n->o->max_len / 8));
        m->len = m->oper == ROCE_OPER_ATOMIC ? 0 : m->len;
        m->first = e->total;
        m->span = roce_psn_cnt(m->len, n->o->mtu);
        e->total += m->span;
    }
    e->seen = calloc(e->total + 1, sizeof(*e->seen));
    assert(e->seen);
    e->timer = NEVER;
    e->rnr_pos = UINT32_MAX;
}

static void begin(struct net *n)
{
    const struct truth_opts *o = n->o;

    for (uint32_t c = 0; c < o->conns; c++) {
        bool wraps = rng_below(o->rng, 3) == 0;

        n->t->conn[c] = flowgen_conn_of(c + 1, wraps ? 0xFFFFE0 : rng_below(o->rng, 1u << 24),
                                        rng_below(o->rng, 1u << 24));
        n->t->conn[c].sport = flowgen_linux_sport(n->t->conn[c].qpn[0], n->t->conn[c].qpn[1]);
        n->g->conn = n->t->conn[c];
        if (o->cm)
            flowgen_connect(n->g);
        plan(n, &n->end[c][0], o->messages);
        plan(n, &n->end[c][1], o->both_ways ? o->messages : 0);
    }
    n->now = n->g->now;
    n->id[0] = n->g->ip_id[0];
    n->id[1] = n->g->ip_id[1];
    n->dead = o->dies ? n->now + 200000 + rng_below(o->rng, 400000) : NEVER;
    wake(n, 0);
    wake(n, 1);
}

void truth_play(const struct truth_opts *opts, struct flowgen *g, struct truth *out)
{
    struct net n = {.o = opts, .g = g, .t = out};

    memset(out, 0, sizeof(*out));
    flowgen_init(g);
    g->mtu = opts->mtu;
    g->svc = opts->svc;
    begin(&n);
    g->step = 0;
    while (n.cnt) {
        struct event e = pop(&n);

        n.now = e.time;
        switch (e.what) {
        case SLOT: host(&n, e.side); break;
        case TIMER: timer(&n, e.conn, e.side); break;
        case PASSES: pass(&n, e.item); break;
        case ARRIVES: arrive(&n, e.item); break;
        }
    }
    for (uint32_t c = 0; c < opts->conns; c++)
        for (int s = 0; s < 2; s++) {
            struct end *e = &n.end[c][s];

            out->stuck[c][s] = e->stuck;
            free(e->msg);
            free(e->queue);
            free(e->seen);
        }
    free(n.heap);
}
