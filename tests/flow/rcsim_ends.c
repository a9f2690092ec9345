/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Requester and responder of an RC connection. Where the specification allows several actions, they
 * choose one at random. */
#include "rcsim_ends.h"

#include <string.h>

struct rcsim_wqe *rcsim_wqe_of(struct rcsim_end *e, uint32_t n)
{
    for (unsigned i = 0; i < e->wqe_cnt; i++)
        if (n - e->wqe[i].first < e->wqe[i].cnt)
            return &e->wqe[i];
    return NULL;
}

/* ---- the simulated requester ----------------------------------------------------------------- */

static uint8_t opcode_of(const struct rcsim_wqe *w, uint32_t k)
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

static uint32_t reads_out(const struct rcsim_end *e)
{
    uint32_t cnt = 0;

    for (unsigned i = 0; i < e->wqe_cnt; i++)
        cnt += e->wqe[i].out && !e->wqe[i].done;
    return cnt;
}

static bool may_send(struct rcsim *s, struct rcsim_end *e, const struct rcsim_wqe *w)
{
    uint32_t ssn = (uint32_t)(w - e->wqe) + 1;

    if (e->snd - e->una >= s->o.window)
        return false;
    if (rcsim_is_answered(w->op) && !w->out && reads_out(e) >= s->o.reads)
        return false;
    if (e->credit_seen && rcsim_uses_rq(w->op) && e->snd == w->first && ssn > e->lsn &&
        e->una < w->first)
        return false; /* without credits, the requester may send only one packet as a probe */
    if (e->credit_seen && e->snd > w->first && w->op <= SEND_INV && ssn > e->lsn && e->una < e->snd)
        return false; /* a SEND that is a probe stops after its first packet */
    if (e->credit_seen && e->snd == w->first && e->una < e->snd) {
        const struct rcsim_wqe *before = rcsim_wqe_of(e, e->snd - 1);

        if (rcsim_uses_rq(before->op) && (uint32_t)(before - e->wqe) + 1 > e->lsn)
            return false; /* wait: the previous message was sent as a probe and is not acknowledged
                           * yet */
    }
    return true;
}

void rcsim_send_one(struct rcsim *s, int side)
{
    struct rcsim_end *e = &s->end[side];
    struct rcsim_wqe *w;
    struct rcsim_event v = {.request = true};
    uint32_t k;

    if (e->snd == e->total || s->now < e->hold)
        return;
    w = rcsim_wqe_of(e, e->snd);
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
    if (rcsim_is_answered(w->op)) {
        w->out = true;
        e->snd = w->first + w->cnt;
    } else
        e->snd++;
    if (e->snd > e->high)
        e->high = e->snd;
    if (e->una == v.n || e->timer == 0)
        e->timer = s->now;
    rcsim_transmit(s, side, v);
}

static void go_back(struct rcsim_end *e, uint32_t n)
{
    e->snd = n;
}

/* Acknowledges all packets before `n`. Returns true, or false if a READ or atomic before `n` is not
 * answered (implied NAK). */
static bool acked(struct rcsim *s, struct rcsim_end *e, uint32_t n)
{
    bool implied = false;

    if (n <= e->una)
        return true;
    for (unsigned i = 0; i < e->wqe_cnt; i++) {
        const struct rcsim_wqe *w = &e->wqe[i];

        if (rcsim_is_answered(w->op) && !w->done && w->first < n) {
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

static void credit(struct rcsim_end *e, const struct rcsim_event *v)
{
    uint8_t code = roce_syndrome_code(v->syndrome);

    if (roce_syndrome_kind(v->syndrome) != ROCE_SYN_ACK)
        return;
    e->credit_seen = code != ROCE_CREDIT_NONE;
    if (e->credit_seen && v->msn + roce_credits(code) > e->lsn)
        e->lsn = v->msn + roce_credits(code);
}

void rcsim_on_response(struct rcsim *s, int side, const struct rcsim_event *v)
{
    struct rcsim_end *e = &s->end[side];
    struct rcsim_wqe *w = rcsim_wqe_of(e, v->n);

    if (v->n + 1 > e->high + 1 || (v->n != UINT32_MAX && v->n >= e->high))
        return; /* a NAK must not have a PSN that was never sent */
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
    if (!w || !rcsim_is_answered(w->op) || w->done || !acked(s, e, w->first))
        return;
    if (w->op != READ) {
        w->done = true;
        w->got = 1;
        (void)acked(s, e, v->n + 1);
        return;
    }
    if (v->n - w->first > w->got) { /* a response before this one is missing: go back */
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

/* ---- the simulated responder ----------------------------------------------------------------- */

static uint8_t positive(struct rcsim *s, struct rcsim_end *e)
{
    return (uint8_t)(ROCE_SYNDROME_ACK |
                     (s->o.credits ? roce_credit_code(e->posted) : ROCE_CREDIT_NONE));
}

static void answer(struct rcsim_end *e, struct rcsim_event v)
{
    if (e->rsp_cnt < RCSIM_RESPONSES)
        e->rsp[e->rsp_cnt++] = v;
}

static void flush_ack(struct rcsim *s, struct rcsim_end *e)
{
    if (!e->ack_due)
        return;
    e->ack_due = false;
    answer(e, (struct rcsim_event){.n = e->epsn - 1,
                                   .opcode = ROCE_OP_RC_ACK,
                                   .syndrome = positive(s, e),
                                   .msn = e->msn});
}

static void read_responses(struct rcsim *s, struct rcsim_end *e, const struct rcsim_wqe *w,
                           uint32_t from, bool fresh)
{
    bool late = fresh && rng_below(s->rng, 2); /* true: the MSN counts the READ only from its last
                                                * response on; false: already from its first
                                                * (C9-148) */

    for (uint32_t k = from; k < w->cnt; k++) {
        bool first = k == from, last = k + 1 == w->cnt;

        answer(e, (struct rcsim_event){.n = w->first + k,
                                       .opcode = first && last ? ROCE_OP_RC_READ_RESP_ONLY
                                                 : first       ? ROCE_OP_RC_READ_RESP_FIRST
                                                 : last        ? ROCE_OP_RC_READ_RESP_LAST
                                                               : ROCE_OP_RC_READ_RESP_MIDDLE,
                                       .syndrome = positive(s, e),
                                       .msn = e->msn - (late && first && !last && from == 0),
                                       .len = last ? w->len - k * s->g->mtu : s->g->mtu});
    }
}

/* Sends the response to an atomic, ATOMIC WRITE or FLUSH, which is one packet. */
static void small_response(struct rcsim *s, struct rcsim_end *e, const struct rcsim_wqe *w)
{
    answer(e, (struct rcsim_event){.n = w->first,
                                   .opcode = w->op == ATOMIC ? ROCE_OP_RC_ATOMIC_ACK
                                                             : ROCE_OP_RC_READ_RESP_ONLY,
                                   .syndrome = positive(s, e),
                                   .msn = e->msn});
}

void rcsim_on_request(struct rcsim *s, int side, const struct rcsim_event *v)
{
    struct rcsim_end *e = &s->end[side];
    struct rcsim_wqe *w = rcsim_wqe_of(&s->end[!side], v->n);

    if (v->n > e->epsn) {
        if (e->nak || e->rnr)
            return;
        flush_ack(s, e);
        e->nak = true;
        answer(e, (struct rcsim_event){.n = e->epsn,
                                       .opcode = ROCE_OP_RC_ACK,
                                       .syndrome = ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ,
                                       .msn = e->msn});
        return;
    }
    if (v->n < e->epsn) { /* the request is a duplicate */
        flush_ack(s, e);
        if (w->op == READ)
            read_responses(s, e, w, v->skip, false);
        else if (rcsim_is_answered(w->op))
            small_response(s, e, w);
        else if (v->ackreq || rng_below(s->rng, 2)) {
            e->ack_due = true;
            flush_ack(s, e);
        }
        return;
    }
    e->nak = e->rnr = false;
    if (rcsim_uses_rq(w->op) &&
        (w->op == WRITE_IMM ? v->n + 1 == w->first + w->cnt : v->n == w->first)) {
        if (e->posted == 0 || rcsim_chance(s, s->o.rnr)) {
            flush_ack(s, e);
            e->rnr = true;
            e->posted += 1 + rng_below(s->rng, 4);
            answer(e, (struct rcsim_event){.n = v->n,
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
        e->posted -= rcsim_uses_rq(w->op);
    }
    if (rcsim_is_answered(w->op)) {
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

void rcsim_respond(struct rcsim *s, int side)
{
    struct rcsim_end *e = &s->end[side];

    if (e->ack_due && s->now >= e->ack_at && e->rsp_cnt < 2)
        flush_ack(s, e);
    if (s->o.credits && e->posted < 8 && rng_below(s->rng, 40) == 0) {
        e->posted += 1 + rng_below(s->rng, 8);
        if (rng_below(s->rng, 2) && e->epsn) { /* an unsolicited ACK */
            e->ack_due = true;
            flush_ack(s, e);
        }
    } else if (!s->o.credits && e->posted < 1000)
        e->posted += 8;
    if (e->rsp_cnt) {
        struct rcsim_event v = e->rsp[0];

        memmove(e->rsp, e->rsp + 1, --e->rsp_cnt * sizeof(v));
        rcsim_transmit(s, side, v);
    }
}
