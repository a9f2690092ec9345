/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Endpoints of a connection: conformant requester and responder of RC, XRC and UC. */
#include "reference_net.h"

#include <assert.h>
#include <stdlib.h>

/* maximum number of outstanding PSNs, not counting the PSNs of one READ */
#define WINDOW    64u
#define READS     4u                 /* maximum number of outstanding READs and atomics */
#define TIMEOUT   UINT64_C(67108864) /* ACK timeout of code 14, ns */
#define RETRIES   6u
#define RNR_CODE  8u /* RNR timer code of 160 us */
#define RNR_TRIES 6u

const struct model_msg *model_msg_at(const struct model_end *e, uint32_t pos)
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

/* ---- the model of a responder ---------------------------------------------------------------- */

/* Queues a response of `side` to the request of its peer that contains position `pos`. */
static void respond(struct model_net *n, uint32_t conn, int side, uint8_t op, uint32_t pos,
                    uint32_t len, uint8_t syndrome)
{
    struct model_end *e = &n->end[conn][side];
    struct model_item *i = calloc(1, sizeof(*i));

    assert(i && e->q_cnt < MODEL_QUEUE);
    n->g->conn = n->t->conn[conn];
    i->pkt = flowgen_resp(n->g, side, op, n->t->conn[conn].psn[!side] + pos, len);
    i->pkt.aeth.syndrome = syndrome;
    i->pkt.aeth.msn = e->msn & ROCE_PSN_MASK;
    i->pkt.atomicacketh.orig = pos;
    i->side = side;
    i->conn = conn;
    e->queue[(e->q_head + e->q_cnt++) % MODEL_QUEUE] = i;
    model_wake(n, side);
}

static void answer(struct model_net *n, const struct model_item *i, const struct model_msg *m)
{
    int side = !i->side;
    uint32_t mtu = n->o->mtu, off = i->pos - m->first;
    uint8_t base = ROCE_OP_RC_READ_RESP_FIRST;

    if (m->oper == ROCE_OPER_ATOMIC) {
        respond(n, i->conn, side, ROCE_OP_RC_ATOMIC_ACK, i->pos, 0, ROCE_CREDIT_NONE);
        return;
    }
    for (uint32_t k = off; k < m->span; k++) { /* the opcode depends on the position of the
                                                * packet: First, Middle, Last, or Only */
        bool first = k == off, last = k + 1 == m->span;
        uint8_t op = (uint8_t)(base + (first ? (last ? 3 : 0) : last ? 2 : 1));

        respond(n, i->conn, side, op, m->first + k, last ? m->len - k * mtu : mtu,
                ROCE_CREDIT_NONE);
    }
}

void model_take_request(struct model_net *n, const struct model_item *i)
{
    int side = !i->side;
    struct model_end *e = &n->end[i->conn][side];
    const struct model_msg *m = model_msg_at(&n->end[i->conn][i->side], i->pos);
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

/* ---- the model of a requester ---------------------------------------------------------------- */

static void go_back(struct model_end *e, enum roce_cause cause)
{
    e->go++;
    e->cause = cause;
    e->nxt = e->una;
    e->timer = MODEL_NEVER;
}

static uint64_t patience(struct model_net *n)
{
    /* At most 30 ms are added to the timeout, so that the wait is below 100 ms. Without CM
     * messages, the analysis engine would take a longer idle time as a possible QP reuse. */
    return n->now + TIMEOUT + rng_below(n->o->rng, 30000000);
}

static void progress(struct model_net *n, struct model_end *e, uint32_t to)
{
    if (to <= e->una)
        return;
    e->una = to;
    if (e->nxt < to)
        e->nxt = to;
    e->went_back = false;
    e->tries = e->rnr_tries = 0;
    e->timer = e->una < e->high ? patience(n) : MODEL_NEVER;
}

/* Starts a go-back for a NAK, unless the requester has already gone back for it. */
static void refuse(struct model_end *e, enum roce_cause cause)
{
    if (e->went_back || e->nxt <= e->una)
        return;
    e->went_back = true;
    go_back(e, cause);
}

/* Acknowledges all positions before `to`. Returns true, or false if it stopped at a READ or atomic
 * that has no response yet. */
static bool acknowledge(struct model_net *n, struct model_end *e, struct model_side *s, uint32_t to)
{
    while (e->una < to) {
        const struct model_msg *m = model_msg_at(e, e->una);
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

void model_take_response(struct model_net *n, const struct model_item *i)
{
    struct model_end *e = &n->end[i->conn][!i->side];
    struct model_side *s = &n->t->side[i->conn][!i->side];
    uint32_t base = n->t->conn[i->conn].psn[!i->side];
    uint32_t pos = (i->pkt.bth.psn - base) & ROCE_PSN_MASK;
    uint8_t syndrome = i->pkt.aeth.syndrome;
    const struct model_msg *m;

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
            model_arm(n, i->conn, !i->side, e->rnr_until);
        }
        return;
    }
    m = model_msg_at(e, pos);
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

struct model_item *model_request(struct model_net *n, uint32_t conn, int side)
{
    struct model_end *e = &n->end[conn][side];
    const struct model_msg *m;
    struct model_item *i;
    uint32_t k, mtu = n->o->mtu;
    bool saved;
    uint8_t op;

    if (e->stuck || e->nxt >= e->total || e->nxt - e->una >= WINDOW || n->now < e->rnr_until)
        return NULL;
    m = model_msg_at(e, e->nxt);
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
        e->timer = MODEL_NEVER;
        return i;
    }
    model_arm(n, conn, side, e->timer);
    return i;
}

void model_timeout(struct model_net *n, uint32_t conn, int side)
{
    struct model_end *e = &n->end[conn][side];

    e->armed = 0;
    if (n->now < e->timer) {
        if (e->timer != MODEL_NEVER)
            model_arm(n, conn, side, e->timer);
    } else if (e->tries++ == RETRIES) {
        e->stuck = true;
        e->timer = MODEL_NEVER;
    } else {
        e->went_back = false;
        go_back(e, ROCE_CAUSE_TIMEOUT);
    }
    model_wake(n, side);
}

void model_plan(struct model_net *n, struct model_end *e, uint32_t messages)
{
    struct rng *rng = n->o->rng;
    uint32_t kinds = n->o->kinds ? n->o->kinds : 0xF;

    e->msgs = messages;
    e->msg = calloc(messages + 1, sizeof(*e->msg));
    e->queue = calloc(MODEL_QUEUE, sizeof(struct model_item *));
    assert(e->msg && e->queue);
    for (uint32_t i = 0; i < e->msgs; i++) {
        struct model_msg *m = &e->msg[i];

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
    e->timer = MODEL_NEVER;
    e->rnr_pos = UINT32_MAX;
}
