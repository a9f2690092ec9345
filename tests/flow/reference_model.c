/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "reference_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "reference_net.h"

/* ---- the queue of events --------------------------------------------------------------------- */

static bool earlier(const struct model_event *a, const struct model_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void push(struct model_net *n, uint64_t time, struct model_item *item, enum model_what what,
                 int side, uint32_t conn)
{
    struct model_event e = {time, ++n->order, item, what, side, conn};
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

static struct model_event pop(struct model_net *n)
{
    struct model_event top = n->heap[0], last = n->heap[--n->cnt];
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

void model_wake(struct model_net *n, int side)
{
    if (n->slot[side])
        return;
    n->slot[side] = true;
    push(n, n->busy[side] > n->now ? n->busy[side] : n->now, NULL, MODEL_SLOT, side, 0);
}

void model_arm(struct model_net *n, uint32_t conn, int side, uint64_t at)
{
    struct model_end *e = &n->end[conn][side];

    if (e->armed && e->armed <= at)
        return;
    e->armed = at;
    push(n, at, NULL, MODEL_TIMER, side, conn);
}

/* ---- the path of a packet -------------------------------------------------------------------- */

static enum model_kind kind_of(const struct model_item *i)
{
    switch (i->pkt.op->kind) {
    case ROCE_KIND_SEND:
    case ROCE_KIND_WRITE: return MODEL_MESSAGE;
    case ROCE_KIND_READ:
    case ROCE_KIND_FETCH_ADD: return MODEL_READ;
    case ROCE_KIND_ACK:
        return roce_syndrome_kind(i->pkt.aeth.syndrome) == ROCE_SYN_ACK ? MODEL_ACK : MODEL_NAK;
    default: return MODEL_DATA;
    }
}

static void pass(struct model_net *n, struct model_item *i);
static void arrive(struct model_net *n, struct model_item *i);

/* Sends packet `i` over one part of the path (`part` 0: before the capture point, 1: after it).
 * The network may lose, copy or delay the packet. Takes ownership of the packet. */
static void travel(struct model_net *n, struct model_item *i, int part, enum model_what what)
{
    const struct model_way *w = part ? &n->o->after : &n->o->before;
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
        struct model_item *c = malloc(sizeof(*c));

        assert(c);
        *c = *i;
        c->copied = true;
        push(n, at + 500, c, what, i->side, i->conn);
    }
    if (w->late && rng_below(n->o->rng, 1000) < w->late)
        at += 1 + rng_below(n->o->rng, w->late_ns);
    if (at > n->now)
        push(n, at, i, what, i->side, i->conn);
    else if (what == MODEL_PASSES)
        pass(n, i);
    else
        arrive(n, i);
}

/* ---- the capture point ----------------------------------------------------------------------- */

static void count_request(struct model_net *n, const struct model_item *i, struct model_side *s)
{
    struct model_end *e = &n->end[i->conn][i->side];
    const struct model_msg *m = model_msg_at(e, i->pos);
    bool first = e->seen[i->pos] == 0;

    s->messages[m->oper] +=
        i->pos + i->span == m->first + m->span && !e->seen[i->pos + i->span - 1];

    /* If no request at or after this position was captured before, the capture does not show that
     * this is a retransmission. */
    if (i->go && i->pos < e->seen_end) {
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
        e->seen_end = i->pos; /* the first captured packet of the end: packets before it are not
                               * missing */
    if (i->pos > e->seen_end)
        s->missing += i->pos - e->seen_end;
    if (i->pos + i->span > e->seen_end)
        e->seen_end = i->pos + i->span;
    for (uint32_t k = 0; k < i->span; k++)
        e->seen[i->pos + k] = n->now;
    e->seen_last = n->now;
}

static void capture(struct model_net *n, const struct model_item *i, bool again)
{
    struct model_side *s = &n->t->side[i->conn][i->side];

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

/* ---- the two hosts --------------------------------------------------------------------------- */

static void host(struct model_net *n, int side)
{
    uint32_t conns = n->o->conns;

    n->slot[side] = false;
    for (uint32_t tries = 0; tries < conns; tries++) {
        uint32_t c = n->turn[side]++ % conns;
        struct model_end *e = &n->end[c][side];
        struct model_item *i;

        if (e->q_cnt) {
            i = e->queue[e->q_head];
            e->q_head = (e->q_head + 1) % MODEL_QUEUE;
            e->q_cnt--;
        } else if (!(i = model_request(n, c, side))) {
            continue;
        }
        if (++n->id[side] == 0)
            n->id[side] = 1;
        i->pkt.ip4.id = n->id[side];
        if (n->o->two_points)
            capture(n, i, false);
        travel(n, i, side, MODEL_PASSES);
        n->busy[side] = n->now + n->o->step_ns;
        model_wake(n, side);
        return;
    }
}

static void pass(struct model_net *n, struct model_item *i)
{
    if (!n->o->two_points)
        capture(n, i, false);
    travel(n, i, !i->side, MODEL_ARRIVES);
}

static void arrive(struct model_net *n, struct model_item *i)
{
    if (n->o->two_points)
        capture(n, i, true);
    if (n->o->svc == ROCE_SVC_UC)
        ; /* UC has no responses */
    else if (i->request)
        model_take_request(n, i);
    else
        model_take_response(n, i);
    model_wake(n, !i->side);
    free(i);
}

static void begin(struct model_net *n)
{
    const struct model_opts *o = n->o;

    for (uint32_t c = 0; c < o->conns; c++) {
        bool wraps = rng_below(o->rng, 3) == 0;

        n->t->conn[c] = flowgen_conn_of(c + 1, wraps ? 0xFFFFE0 : rng_below(o->rng, 1u << 24),
                                        rng_below(o->rng, 1u << 24));
        n->t->conn[c].sport = flowgen_linux_sport(n->t->conn[c].qpn[0], n->t->conn[c].qpn[1]);
        n->g->conn = n->t->conn[c];
        if (o->cm)
            flowgen_connect(n->g);
        model_plan(n, &n->end[c][0], o->messages);
        model_plan(n, &n->end[c][1], o->both_ways ? o->messages : 0);
    }
    n->now = n->g->now;
    n->id[0] = n->g->ip_id[0];
    n->id[1] = n->g->ip_id[1];
    n->dead = o->dies ? n->now + 200000 + rng_below(o->rng, 400000) : MODEL_NEVER;
    model_wake(n, 0);
    model_wake(n, 1);
}

void model_play(const struct model_opts *opts, struct flowgen *g, struct model *out)
{
    struct model_net n = {.o = opts, .g = g, .t = out};

    memset(out, 0, sizeof(*out));
    flowgen_init(g);
    g->mtu = opts->mtu;
    g->svc = opts->svc;
    begin(&n);
    g->step = 0;
    while (n.cnt) {
        struct model_event e = pop(&n);

        n.now = e.time;
        switch (e.what) {
        case MODEL_SLOT: host(&n, e.side); break;
        case MODEL_TIMER: model_timeout(&n, e.conn, e.side); break;
        case MODEL_PASSES: pass(&n, e.item); break;
        case MODEL_ARRIVES: arrive(&n, e.item); break;
        }
    }
    for (uint32_t c = 0; c < opts->conns; c++)
        for (int s = 0; s < 2; s++) {
            struct model_end *e = &n.end[c][s];

            out->stuck[c][s] = e->stuck;
            free(e->msg);
            free(e->queue);
            free(e->seen);
        }
    free(n.heap);
}
