/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Model of the responders: predicts the results of each arriving packet and the counters
 * (scenario.h). */
#include <stdlib.h>
#include <string.h>
#include "scenario.h"
#include "support/suite.h"

struct scn_wr *scenario_wr_at(struct scn_end *e, uint32_t at)
{
    for (unsigned i = 0; i < e->wr_cnt; i++)
        if (at >= e->wr[i].first && at < e->wr[i].first + e->wr[i].psns)
            return &e->wr[i];
    return NULL;
}

static void count_executed(struct scn_tally *t, const struct roce_pkt *pkt)
{
    switch (pkt->op->kind) {
    case ROCE_KIND_SEND: t->send++; break;
    case ROCE_KIND_WRITE: t->write++; break;
    case ROCE_KIND_READ: t->read++; break;
    case ROCE_KIND_FLUSH: t->flush++; break;
    case ROCE_KIND_ATOMIC_WRITE: t->atomic_write++; break;
    default: t->atomic++; break;
    }
}

static void push_due(struct scn_end *e, const struct scn_end *o, const struct scn_wr *w)
{
    if (e->due_cnt == SCN_DUE)
        abort();
    e->due[e->due_cnt++] = (unsigned)(w - o->wr);
}

/* Returns whether the packet consumes a receive WQE: the first packet of a SEND, or the last
 * packet of a WRITE with immediate (R093, R094). */
static bool takes_wqe(const struct roce_pkt *pkt, const struct scn_wr *w)
{
    if (pkt->op->kind == ROCE_KIND_SEND)
        return roce_opcode_starts(pkt->op);
    return w->opcode == RNIC_WR_WRITE_IMM && roce_opcode_ends(pkt->op);
}

/* Removes and returns the oldest receive WQE. */
static struct scn_buffer take_buffer(struct scn_pool *p)
{
    p->avail--;
    return p->posted[p->taken++ % SCN_DEPTH];
}

/* Returns whether the responder refuses the packet because of the error of its link (R082, R083,
 * R090, R120, R210). */
static bool is_refused(const struct scn_link *l, const struct scn_wr *w, const struct roce_pkt *pkt,
                       uint32_t at, const struct scn_buffer *buffer)
{
    uint32_t off = (at - w->first) * l->mtu;

    if (pkt->op->kind == ROCE_KIND_SEND && off + pkt->payload_len > buffer->room)
        return true;
    if (pkt->op->kind == ROCE_KIND_SEND)
        return buffer->bad && pkt->payload_len;
    return w->wrong && (roce_opcode_starts(pkt->op) || pkt->op->kind != ROCE_KIND_WRITE) &&
           (l->accident == SCN_BAD_RKEY || l->accident == SCN_MISALIGNED ||
            l->accident == SCN_WINDOW);
}

/* Cancels a NAK that is due, because the gap was filled before the device sent the NAK. The device
 * may have delayed the NAK for one of three reasons: no time has passed, the link was busy, or the
 * QP has a reduced rate and sends READ responses first. */
static void void_nak(struct scenario *s, struct scn_end *e)
{
    const struct simnet *net = &s->fabric.net;

    if (!e->nak_due)
        return;
    CU_ASSERT(e->nak_since == net->now || net->hold_output[e->dev] > e->nak_since || e->slowed);
    s->tally[e->dev].seq_nak_void++;
    e->nak_due = false;
}

/* Models the arrival of an out-of-order packet (R067, R068, R070). */
static void see_gap(struct scenario *s, struct scn_end *e, uint32_t at)
{
    struct scn_tally *t = &s->tally[e->dev];

    t->ahead++;
    if (!e->silent) {
        t->seq_nak++;
        e->nak_due = true;
        e->nak_since = s->fabric.net.now;
        e->gap_end = 0;
    }
    e->silent = true;
    e->gap_end = e->gap_end > at ? e->gap_end : at + 1;
}

/* Models the arrival of the expected PSN. If a NAK waits until READ responses are sent, it gets the
 * PSN that is missing at the time when the NAK itself is sent. */
static void go_on(struct scenario *s, struct scn_end *e)
{
    if (e->epsn >= e->gap_end)
        void_nak(s, e);
    e->silent = e->nak_due;
}

/* Models a request to an RC or XRC responder (R061, R067, R093, R109). */
static void model_reliable(struct scenario *s, const struct scn_link *l, struct scn_end *e,
                           const struct roce_pkt *pkt, const struct scn_wr *w, uint32_t at)
{
    struct scn_tally *t = &s->tally[e->dev];

    if (at < e->epsn) {
        t->duplicate++;
    } else if (at > e->epsn) {
        see_gap(s, e, at);
    } else if (takes_wqe(pkt, w) && e->pool->avail == 0) {
        t->no_wqe++;
        e->silent = true;
        void_nak(s, e); /* the RNR NAK replaces the sequence NAK */
    } else {
        if (takes_wqe(pkt, w))
            e->buffer = take_buffer(e->pool);
        if (is_refused(l, w, pkt, at, &e->buffer)) {
            void_nak(s, e);
            return; /* the QP enters the error state */
        }
        e->epsn += pkt->op->kind == ROCE_KIND_READ ? w->psns : 1;
        count_executed(t, pkt);
        go_on(s, e);
    }
}

/* Models a lost UC message. The next message uses the receive WQE of the lost one (R163, R165). */
static void drop_uc(struct scn_tally *t, struct scn_end *e)
{
    t->uc_dropped++;
    e->open = false;
    e->pool->untidy = e->pool->untidy || e->held;
}

/* Returns whether a UC responder drops the packet: it is too long for the buffer, or has an
 * invalid R_Key. */
static bool is_dropped_uc(const struct scn_link *l, const struct scn_end *e, const struct scn_wr *w,
                          const struct roce_pkt *pkt)
{
    if (pkt->op->kind == ROCE_KIND_SEND)
        return e->got + pkt->payload_len > e->buffer.room;
    return w->wrong && (l->accident == SCN_BAD_RKEY || l->accident == SCN_WINDOW);
}

/* Models a packet to a UC responder (R065, R163-R166). */
static void model_uc(struct scn_tally *t, struct scn_link *l, struct scn_end *e,
                     const struct roce_pkt *pkt, struct scn_wr *w, uint32_t at)
{
    const struct scn_end *o = &l->end[e == &l->end[0]];
    bool needs = pkt->op->kind == ROCE_KIND_SEND ||
                 (w->opcode == RNIC_WR_WRITE_IMM && roce_opcode_ends(pkt->op));
    bool in_order = at == e->epsn;

    e->epsn = at + 1;
    t->ahead += !in_order;
    if (!in_order || roce_opcode_starts(pkt->op)) {
        e->pool->untidy = e->pool->untidy || e->held;
        e->open = roce_opcode_starts(pkt->op);
        e->got = 0;
    }
    if (!e->open) {
        t->uc_dropped++;
        return;
    }
    if (needs && !e->held && e->pool->avail == 0) {
        t->no_wqe++;
        drop_uc(t, e);
        return;
    }
    if (needs && !e->held) {
        e->buffer = take_buffer(e->pool);
        e->held = true;
    }
    if (is_dropped_uc(l, e, w, pkt)) {
        scenario_seen.refused_window[1][w->window] += l->accident == SCN_WINDOW;
        scenario_seen.accidents[1][l->accident] += scenario_late(l);
        drop_uc(t, e);
        return;
    }
    if (pkt->op->kind == ROCE_KIND_SEND && e->buffer.bad && pkt->payload_len) {
        scenario_seen.accidents[1][l->accident]++;
        return; /* the QP enters the error state */
    }
    count_executed(t, pkt);
    w->broken++;
    e->got += pkt->payload_len;
    if (!roce_opcode_ends(pkt->op))
        return;
    e->open = false;
    w->delivered = true;
    if (w->opcode == RNIC_WR_WRITE)
        return;
    e->held = false;
    push_due(e, o, w);
}

/* Models a packet to a UD receiver (R170, R174). */
static void model_ud(struct scn_tally *t, const struct scn_link *l, struct scn_end *e,
                     const struct roce_pkt *pkt, struct scn_wr *w)
{
    const struct scn_end *o = &l->end[e == &l->end[0]];

    if (pkt->deth.qkey != SCN_QKEY) {
        t->qkey++;
    } else if (e->pool->avail == 0) {
        t->no_wqe++;
    } else if (e->pool->posted[e->pool->taken % SCN_DEPTH].room < SCN_GRH + pkt->payload_len) {
        scenario_seen.accidents[2][l->accident]++;
        t->no_room++; /* the WQE is not consumed and remains for a message that fits */
    } else if (take_buffer(e->pool).bad) {
        scenario_seen.accidents[2][l->accident]++; /* the QP enters the error state */
    } else {
        t->datagrams++;
        w->delivered = true;
        push_due(e, o, w);
    }
}

/* ---- received packets ------------------------------------------------------------------------ */

static bool is_marked(const struct roce_pkt *pkt)
{
    return (pkt->encap == ROCE_ENCAP_V2_IP4 && pkt->ip4.ecn == 3) ||
           (pkt->encap == ROCE_ENCAP_V2_IP6 && pkt->ip6.ecn == 3);
}

/* Returns the end on device `dev` with the destination QP of a packet, or NULL. */
static struct scn_end *receiver_of(struct scenario *s, unsigned dev, const struct roce_pkt *pkt,
                                   struct scn_link **link)
{
    bool cnp = pkt->op->kind == ROCE_KIND_CNP;
    bool request = !cnp && roce_opcode_is_request(pkt->op);

    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned k = 0; k < 2; k++) {
            struct scn_end *e = &s->link[i].end[k];

            *link = &s->link[i];
            if (e->dev == dev && ((!request && e->qpn == pkt->bth.dest_qp) ||
                                  ((cnp || request) && e->target_qpn == pkt->bth.dest_qp)))
                return e;
        }
    }
    return NULL;
}

/* Returns the state of the destination QP of a packet. */
static enum rnic_qp_state state_of(const struct scn_end *e, const struct roce_pkt *pkt)
{
    struct rnic_qp_view view;

    rnic_qp_view(e->qpn == pkt->bth.dest_qp ? e->qp : e->target, &view);
    return view.state;
}

static void model_request(struct scenario *s, struct scn_link *l, struct scn_end *e,
                          const struct roce_pkt *pkt)
{
    struct scn_tally *t = &s->tally[e->dev];
    struct scn_end *o = &l->end[e == &l->end[0]];
    uint32_t at = (pkt->bth.psn - o->sq_psn) & ROCE_PSN_MASK;
    struct scn_wr *w = scenario_wr_at(o, at);

    if (!w)
        return; /* scenario_observe() has already reported the wrong PSN */
    if (scenario_reliable(l))
        model_reliable(s, l, e, pkt, w, at);
    else if (l->type == RNIC_QPT_UC)
        model_uc(t, l, e, pkt, w, at);
    else
        model_ud(t, l, e, pkt, w);
}

void scenario_arrive(void *ctx, unsigned node, const uint8_t *frame, size_t len, uint64_t now)
{
    struct scenario *s = ctx;
    struct scn_tally *t = &s->tally[node]; /* a node and its device have the same number */
    struct roce_pkt pkt;
    struct scn_link *l = NULL;
    struct scn_end *e;
    enum rnic_qp_state state;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0 || roce_pkt_dropped(&pkt) ||
        roce_pkt_icrc_check(&pkt, NULL) != ROCE_ICRC_GOOD)
        return;
    e = receiver_of(s, node, &pkt, &l);
    state = e ? state_of(e, &pkt) : RNIC_QPS_RESET;
    if (state != RNIC_QPS_RTS && (state != RNIC_QPS_SQE || pkt.op->kind == ROCE_KIND_CNP)) {
        t->no_qp++; /* a QP in this state receives nothing (R046, R054) */
        if (e && e->qpn == pkt.bth.dest_qp)
            oracle_ended(&e->witness, ORACLE_END_OWN, now);
    } else if (pkt.op->kind == ROCE_KIND_CNP) {
        t->cnps++;
        e->slowed = s->paced;
    } else if (l->accident == SCN_BAD_PKEY) {
        t->pkey++;
    } else {
        t->marked += is_marked(&pkt) && pkt.op->svc != ROCE_SVC_UD &&
                     pkt.op->kind != ROCE_KIND_ACK && pkt.op->kind != ROCE_KIND_ATOMIC_ACK;
        if (roce_opcode_is_request(pkt.op))
            model_request(s, l, e, &pkt);
        else
            oracle_got(&e->witness, &pkt, now, e->slowed || s->fabric.net.hold_output[node] >= now);
    }
}
