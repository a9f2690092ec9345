/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include "sim/scenario.h"
#include "support/suite.h"
#include "wire/codes.h"
#include "wire/crc32.h"

/* The end that sends from device `from` to QPN `qpn` of device `to` (-1: any): the requester. */
static struct scn_end *sender_of(struct scenario *s, unsigned from, int to, uint32_t qpn,
                                 struct scn_link **link)
{
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned e = 0; e < 2; e++) {
            struct scn_end *o = &s->link[i].end[!e];

            *link = &s->link[i];
            if (s->link[i].end[e].dev == from && o->target_qpn == qpn &&
                (to < 0 || o->dev == (unsigned)to))
                return &s->link[i].end[e];
        }
    }
    return NULL;
}

static struct scn_wr *wr_at(struct scn_end *e, uint32_t at)
{
    for (unsigned i = 0; i < e->wr_cnt; i++)
        if (at >= e->wr[i].first && at < e->wr[i].first + e->wr[i].psns)
            return &e->wr[i];
    return NULL;
}

/* ---- what is sent ---------------------------------------------------------------------------- */

static void feed_judge(struct scenario *s, const struct roce_pkt *pkt, uint64_t now)
{
    const struct roce_flow_in in = {
        .pkt = pkt, .frame = ++s->frame, .time = now, .icrc = roce_pkt_icrc_check(pkt, NULL)};

    EXPECT_EQ(in.icrc, ROCE_ICRC_GOOD);
    EXPECT_EQ(pkt->defects, 0);
    roce_flow_feed(s->judge, &in, NULL);
}

/* R026, R027: reserved bits are zero, and so is the pad, which makes it a multiple of 4. */
static void check_form(const struct roce_pkt *pkt)
{
    static const uint8_t zero[4];

    EXPECT_EQ(pkt->bth.resv6 | pkt->bth.resv7 | pkt->bth.fecn, 0);
    EXPECT_EQ(pkt->bth.pkey, 0xFFFF); /* R045 */
    EXPECT_EQ(pkt->bth.becn, pkt->op->kind == ROCE_KIND_CNP);
    EXPECT_EQ(pkt->bth.padcnt, -pkt->payload_len & 3);
    EXPECT_EQ(pkt->payload_off + pkt->payload_len + pkt->bth.padcnt, pkt->icrc_off);
    CU_ASSERT(memcmp(pkt->frame + pkt->icrc_off - pkt->bth.padcnt, zero, pkt->bth.padcnt) == 0);
}

/* R038, R039: first and middle packets are full, last ones not empty, none is longer. */
static void check_size(const struct scn_link *l, const struct roce_pkt *pkt)
{
    if (l->type == RNIC_QPT_UD ||
        (pkt->op->kind != ROCE_KIND_SEND && pkt->op->kind != ROCE_KIND_WRITE))
        return;
    if (!roce_opcode_ends(pkt->op))
        EXPECT_EQ(pkt->payload_len, l->mtu);
    CU_ASSERT(pkt->payload_len <= l->mtu);
    CU_ASSERT(roce_opcode_starts(pkt->op) || pkt->payload_len > 0);
}

/* R214, R215: to the QP that sent something marked, on the device it came from. */
static void check_cnp(struct scenario *s, const struct simnet_event *event)
{
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned e = 0; e < 2; e++) {
            const struct scn_end *to = &s->link[i].end[e];

            if (s->link[i].type != RNIC_QPT_UD && (int)to->dev == event->to &&
                s->link[i].end[!e].dev == event->from &&
                (to->qpn == event->pkt->bth.dest_qp || to->target_qpn == event->pkt->bth.dest_qp))
                return;
        }
    }
    suite_fail(__FILE__, __LINE__, "a CNP to QP %06x of device %d, which talks to nobody here",
               event->pkt->bth.dest_qp, event->to);
}

/* R097: with the time of the QP that it comes from. */
static void check_rnr(const struct scenario *s, const struct simnet_event *event)
{
    for (unsigned i = 0; i < s->link_cnt; i++)
        for (unsigned e = 0; e < 2; e++)
            if (s->link[i].end[e].dev == event->from && (int)s->link[i].end[!e].dev == event->to &&
                s->link[i].end[!e].qpn == event->pkt->bth.dest_qp)
                EXPECT_EQ(roce_syndrome_code(event->pkt->aeth.syndrome),
                          s->link[i].end[e].rnr_code);
}

/* R057-R059: new requests continue where the last ended; R153: one sent again is the same packet,
 * only that a READ may ask for its tail (R112). */
static void check_request(struct scenario *s, struct scn_link *l, struct scn_end *e,
                          const struct roce_pkt *pkt)
{
    uint32_t at = (pkt->bth.psn - e->sq_psn) & ROCE_PSN_MASK;
    struct scn_tally *t = &s->tally[e->dev];
    uint32_t cnt = pkt->op->kind == ROCE_KIND_READ ? roce_psn_cnt(pkt->reth.dma_len, l->mtu) : 1;
    uint32_t hash =
        roce_crc32(0, pkt->frame + pkt->off[ROCE_HDR_BTH], pkt->icrc_off - pkt->off[ROCE_HDR_BTH]);

    hash += hash == 0;
    if (at >= e->psns) {
        suite_fail(__FILE__, __LINE__, "PSN %06x is of no request of QP %06x", pkt->bth.psn,
                   e->qpn);
        return;
    }
    if (at >= e->sent) {
        EXPECT_EQ(at, e->sent);
        e->sent = at + cnt;
        e->seen[at] = hash;
    } else {
        CU_ASSERT(scenario_reliable(l));
        t->again++;
        if (pkt->op->kind != ROCE_KIND_READ || e->seen[at])
            EXPECT_EQ(hash, e->seen[at]);
    }
    if (scenario_reliable(l))
        witness_sent(&e->witness, pkt, s->fabric.net.now);
}

/* For scenario_seen: what met what. */
static void note(struct scenario *s, unsigned from, int to, const struct roce_pkt *pkt,
                 enum simnet_class cls, unsigned fates)
{
    struct scn_link *l;
    struct scn_end *e;
    const struct scn_wr *w;
    uint64_t *seen;

    if (pkt->encap == ROCE_ENCAP_V1)
        fates &= ~(1u << SIMNET_MARKED); /* has no such bits */
    if (cls == SIMNET_CNP || !roce_opcode_is_request(pkt->op)) {
        seen = scenario_seen.answers[pkt->op->svc == ROCE_SVC_XRC ? 3 : 0][cls];
    } else {
        e = sender_of(s, from, to, pkt->bth.dest_qp, &l);
        w = e ? wr_at(e, (pkt->bth.psn - e->sq_psn) & ROCE_PSN_MASK) : NULL;
        if (!w)
            return;
        seen = scenario_seen.struck[scenario_service(l)][w->opcode];
    }
    for (unsigned f = 0; f < SIMNET_FATE_CNT; f++)
        seen[f] += fates >> f & 1;
}

void scenario_switched(void *ctx, unsigned from, unsigned to, const uint8_t *frame, size_t len,
                       enum simnet_fate fate)
{
    struct roce_pkt pkt;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) == 0)
        note(ctx, from, (int)to, &pkt, simnet_classify(&pkt), 1u << fate);
}

void scenario_observe(void *ctx, const struct simnet_event *event)
{
    struct scenario *s = ctx;
    const struct roce_pkt *pkt = event->pkt;
    struct scn_link *l;
    struct scn_end *e;

    feed_judge(s, pkt, event->now);
    note(s, event->from, event->to, pkt, event->cls, event->fates);
    check_form(pkt);
    if (event->cls == SIMNET_CNP) {
        check_cnp(s, event);
        return;
    }
    if (!roce_opcode_is_request(pkt->op)) {
        EXPECT_EQ(pkt->bth.ackreq, 0); /* R043 */
        EXPECT_EQ(pkt->bth.se, 0);     /* R041 */
        if (event->cls == SIMNET_NAK_RNR)
            check_rnr(s, event);
        return;
    }
    e = sender_of(s, event->from, event->to, pkt->bth.dest_qp, &l);
    if (e) {
        check_size(l, pkt);
        check_request(s, l, e, pkt);
        return;
    }
    suite_fail(__FILE__, __LINE__, "a request to QP %06x, which is none", pkt->bth.dest_qp);
}

/* ---- the model of the responders ------------------------------------------------------------- */

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

/* Whether the packet needs a receive WQE of its own: SEND at its first, WRITE with immediate at its
 * last packet (R093, R094). */
static bool takes_wqe(const struct roce_pkt *pkt, const struct scn_wr *w)
{
    if (pkt->op->kind == ROCE_KIND_SEND)
        return roce_opcode_starts(pkt->op);
    return w->opcode == RNIC_WR_WRITE_IMM && roce_opcode_ends(pkt->op);
}

/* R061, R067, R093, R109. */
static void model_reliable(struct scn_tally *t, struct scn_end *e, const struct roce_pkt *pkt,
                           const struct scn_wr *w, uint32_t at, uint64_t now)
{
    if (at == e->epsn && e->silent && e->nak_at == now) {
        t->filled++;
        e->nak_at = 0;
    }
    if (at < e->epsn) {
        t->duplicate++;
    } else if (at > e->epsn) {
        t->ahead++;
        t->seq_nak += !e->silent; /* R068, R070 */
        e->nak_at = e->silent ? e->nak_at : now;
        e->silent = true;
    } else if (takes_wqe(pkt, w) && e->pool->avail == 0) {
        t->no_wqe++;
        e->silent = true;
        e->nak_at = 0;
    } else {
        e->silent = false;
        e->pool->avail -= takes_wqe(pkt, w);
        e->epsn += pkt->op->kind == ROCE_KIND_READ ? w->psns : 1;
        count_executed(t, pkt);
    }
}

/* R065, R163-R166. */
static void model_uc(struct scn_tally *t, struct scn_end *e, const struct scn_end *o,
                     const struct roce_pkt *pkt, struct scn_wr *w, uint32_t at)
{
    bool needs = pkt->op->kind == ROCE_KIND_SEND ||
                 (w->opcode == RNIC_WR_WRITE_IMM && roce_opcode_ends(pkt->op));
    bool in_order = at == e->epsn;

    e->epsn = at + 1;
    t->ahead += !in_order;
    if (!in_order || roce_opcode_starts(pkt->op)) {
        e->pool->untidy = e->pool->untidy || e->held;
        e->open = roce_opcode_starts(pkt->op);
    }
    if (!e->open) {
        t->uc_dropped++;
        return;
    }
    if (needs && !e->held && e->pool->avail == 0) {
        t->no_wqe++;
        t->uc_dropped++;
        e->open = false;
        return;
    }
    if (needs && !e->held) {
        e->pool->avail--;
        e->held = true;
    }
    count_executed(t, pkt);
    w->broken++;
    if (!roce_opcode_ends(pkt->op))
        return;
    e->open = false;
    w->delivered = true;
    if (w->opcode == RNIC_WR_WRITE)
        return;
    e->held = false;
    push_due(e, o, w);
}

/* R170, R174. */
static void model_ud(struct scn_tally *t, struct scn_end *e, const struct scn_end *o,
                     struct scn_wr *w)
{
    if (e->pool->avail == 0) {
        t->no_wqe++;
        return;
    }
    e->pool->avail--;
    t->datagrams++;
    w->delivered = true;
    push_due(e, o, w);
}

static bool is_marked(const struct roce_pkt *pkt)
{
    return (pkt->encap == ROCE_ENCAP_V2_IP4 && pkt->ip4.ecn == 3) ||
           (pkt->encap == ROCE_ENCAP_V2_IP6 && pkt->ip6.ecn == 3);
}

/* A response or CNP for one of the requesters of a device. */
static void requester_gets(struct scenario *s, unsigned node, const struct roce_pkt *pkt,
                           uint64_t now)
{
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned k = 0; k < 2; k++) {
            struct scn_end *e = &s->link[i].end[k];
            struct rnic_qp_view view;

            if (e->dev != node || e->qpn != pkt->bth.dest_qp)
                continue;
            if (pkt->op->kind == ROCE_KIND_CNP) {
                e->slowed = s->paced;
                return;
            }
            rnic_qp_view(e->qp, &view); /* what its user sees: it may have failed as a responder */
            if (view.state == RNIC_QPS_ERR)
                witness_ended(&e->witness, WITNESS_END_OWN, now);
            witness_got(&e->witness, pkt, now, e->slowed || s->fabric.net.hold_output[node] >= now);
            return;
        }
    }
}

void scenario_arrive(void *ctx, unsigned node, const uint8_t *frame, size_t len, uint64_t now)
{
    struct scenario *s = ctx;
    struct scn_tally *t = &s->tally[node]; /* nodes and devices have the same numbers */
    struct roce_pkt pkt;
    struct scn_link *l = NULL;
    struct scn_end *o = NULL;
    struct scn_end *e;
    struct scn_wr *w;
    uint32_t at;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0 || roce_pkt_dropped(&pkt) ||
        roce_pkt_icrc_check(&pkt, NULL) != ROCE_ICRC_GOOD)
        return;
    t->marked += is_marked(&pkt) && pkt.op->svc != ROCE_SVC_UD && pkt.op->kind != ROCE_KIND_CNP &&
                 pkt.op->kind != ROCE_KIND_ACK && pkt.op->kind != ROCE_KIND_ATOMIC_ACK;
    if (pkt.op->kind == ROCE_KIND_CNP || !roce_opcode_is_request(pkt.op)) {
        requester_gets(s, node, &pkt, now);
        return;
    }
    for (unsigned d = 0; d < s->fabric.dev_cnt && !o; d++)
        o = sender_of(s, d, (int)node, pkt.bth.dest_qp, &l);
    if (!o)
        return;
    e = &l->end[o == &l->end[0]];
    at = (pkt.bth.psn - o->sq_psn) & ROCE_PSN_MASK;
    w = wr_at(o, at);
    if (!w)
        return; /* observe() has told */
    if (scenario_reliable(l))
        model_reliable(t, e, &pkt, w, at, now);
    else if (l->type == RNIC_QPT_UC)
        model_uc(t, e, o, &pkt, w, at);
    else
        model_ud(t, e, o, w);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Bytes that are now as expected if `sure`; else each may also be as it was, and is from now on
 * taken to be right. */
static void put(struct scenario *s, unsigned dev, uint32_t off, const void *to_be, uint32_t len,
                bool sure)
{
    const uint8_t *now = s->fabric.dev[dev].mem + off;
    uint8_t *expected = s->expected[dev] + off;
    const uint8_t *bytes = to_be;

    for (uint32_t i = 0; i < len; i++) {
        if (!sure && now[i] != expected[i] && now[i] != bytes[i]) {
            suite_fail(__FILE__, __LINE__, "byte 0x%x of device %u: 0x%02x, neither old nor new",
                       off + i, dev, now[i]);
            return;
        }
        expected[i] = sure ? bytes[i] : now[i];
    }
}

static void settle_atomic(struct scenario *s, const struct scn_end *e, const struct scn_end *o,
                          const struct scn_wr *w)
{
    uint8_t *word = s->expected[o->dev] + w->roff;
    uint64_t was;
    uint64_t next;

    if (w->roff == 0) { /* for all: what it found depends on the others, the sum does not */
        s->added[o->dev] += w->compare_add;
        memcpy(s->expected[e->dev] + w->off, s->fabric.dev[e->dev].mem + w->off, 8);
        return;
    }
    memcpy(&was, word, 8);
    next = w->opcode == RNIC_WR_FETCH_ADD ? was + w->compare_add
           : was == w->compare_add        ? w->swap
                                          : was;
    put(s, e->dev, w->off, &was, 8, w->done);
    put(s, o->dev, w->roff, &next, 8, w->done);
}

/* What a request has done to the memories. SENDs are looked at when they are received. */
static void settle(struct scenario *s, const struct scn_link *l, unsigned side,
                   const struct scn_wr *w)
{
    const struct scn_end *e = &l->end[side];
    const struct scn_end *o = &l->end[!side];
    bool sure = scenario_reliable(l) ? w->done : w->delivered;

    switch (w->opcode) {
    case RNIC_WR_CMP_SWAP:
    case RNIC_WR_FETCH_ADD: settle_atomic(s, e, o, w); break;
    case RNIC_WR_READ: put(s, e->dev, w->off, s->expected[o->dev] + w->roff, w->len, sure); break;
    case RNIC_WR_WRITE:
    case RNIC_WR_WRITE_IMM:
    case RNIC_WR_ATOMIC_WRITE:
        put(s, o->dev, w->roff, s->fabric.dev[e->dev].mem + w->off, w->len, sure);
        break;
    default: break;
    }
    if (!w->done)
        return;
    scenario_seen.done[scenario_service(l)][w->opcode]++;
    scenario_seen.mtus[scenario_service(l)][w->opcode][l->mtu == 256    ? 0
                                                       : l->mtu == 512  ? 1
                                                       : l->mtu == 1024 ? 2
                                                       : l->mtu == 2048 ? 3
                                                                        : 4]++;
    scenario_seen.encaps[scenario_service(l)][w->opcode][s->fabric.encap - ROCE_ENCAP_V1]++;
}

static void check_memory(struct scenario *s)
{
    for (unsigned i = 0; i < s->link_cnt; i++)
        for (unsigned e = 0; e < 2; e++)
            for (unsigned k = 0; k < s->link[i].end[e].posted; k++)
                settle(s, &s->link[i], e, &s->link[i].end[e].wr[k]);
    /* Buffers that something unfinished may have used. */
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned e = 0; e < 2; e++) {
            const struct scn_end *end = &s->link[i].end[e];
            struct scn_pool *p = end->pool;

            for (unsigned k = 0; k < SCN_DEPTH; k++)
                if (s->link[i].accident || end->held || p->untidy)
                    memcpy(s->expected[end->dev] + p->off[k],
                           s->fabric.dev[end->dev].mem + p->off[k], p->room);
        }
    }
    for (unsigned d = 0; d < s->fabric.dev_cnt; d++) {
        const uint8_t *now = s->fabric.dev[d].mem;
        uint64_t sum;

        memcpy(&sum, s->expected[d], 8);
        sum += s->added[d];
        memcpy(s->expected[d], &sum, 8);
        for (uint32_t i = 0; i < s->fabric.mem_len; i++) {
            if (now[i] != s->expected[d][i]) {
                suite_fail(__FILE__, __LINE__, "byte 0x%x of device %u: 0x%02x, not 0x%02x", i, d,
                           now[i], s->expected[d][i]);
                break;
            }
        }
    }
}

/* R247, R248: all is completed, and received = sent = acknowledged. */
static void check_end(const struct scn_link *l, unsigned side)
{
    const struct scn_end *e = &l->end[side];
    const struct scn_end *o = &l->end[!side];
    struct rnic_qp_view mine;
    struct rnic_qp_view theirs;
    unsigned messages = 0;

    EXPECT_EQ(e->posted, e->wr_cnt);
    EXPECT_EQ(e->done, e->wr_cnt);
    rnic_qp_view(e->qp, &mine);
    rnic_qp_view(o->target, &theirs);
    EXPECT_EQ(mine.send_wr, 0);
    if (l->accident)
        return;
    CU_ASSERT(!e->failed);
    EXPECT_EQ(mine.state, RNIC_QPS_RTS);
    EXPECT_EQ(e->sent, e->psns);
    if (!scenario_reliable(l)) {
        EXPECT_EQ(e->due_cnt, 0);
        return;
    }
    for (unsigned i = 0; i < e->wr_cnt; i++)
        messages += !rnic_wr_is_local(e->wr[i].opcode);
    EXPECT_EQ(mine.una_psn, mine.sq_psn);
    EXPECT_EQ(theirs.epsn, mine.sq_psn);
    EXPECT_EQ(theirs.msn, messages); /* R102, R104 */
    EXPECT_EQ(o->epsn, e->psns);
}

static uint64_t sum_of(const uint64_t status[RNIC_WC_GENERAL_ERR + 1])
{
    uint64_t sum = 0;

    for (unsigned i = 1; i <= RNIC_WC_GENERAL_ERR; i++)
        sum += status[i];
    return sum;
}

/* What the requesters of a device must have counted, by what the wire showed. */
static void check_requesters(const struct scenario *s, unsigned d, const struct rnic_counters *c)
{
    const uint64_t counted[] = {
#define X(name) c->name,
        WITNESS_COUNTS(X)
#undef X
    };

    for (unsigned k = 0; k < WITNESS_COUNT_CNT; k++) {
        struct witness_range sum = {0};

        for (unsigned i = 0; i < s->link_cnt; i++) {
            for (unsigned e = 0; e < 2; e++) {
                struct witness_range one =
                    witness_count(&s->link[i].end[e].witness, (enum witness_count)k);

                sum.least += s->link[i].end[e].dev == d ? one.least : 0;
                sum.most += s->link[i].end[e].dev == d ? one.most : 0;
            }
        }
        if (counted[k] < sum.least || counted[k] > sum.most)
            suite_fail(__FILE__, __LINE__, "device %u: %s is %llu, the wire shows %llu to %llu", d,
                       witness_count_name((enum witness_count)k), (unsigned long long)counted[k],
                       (unsigned long long)sum.least, (unsigned long long)sum.most);
        if (sum.least == sum.most)
            scenario_seen.told[k]++;
        else
            scenario_seen.hidden[k]++;
    }
}

/* R249: each counter is what the wire and the completions show. */
static void check_counters(const struct scenario *s, unsigned d)
{
    const struct simnet *net = &s->fabric.net;
    const struct scn_tally *t = &s->tally[d];
    struct rnic_counters c = fabric_counters(&s->fabric, d);
    const uint64_t *sends = t->status[0];
    const uint64_t *receives = t->status[1];
    int me = (int)s->fabric.dev[d].node;

    EXPECT_EQ(c.tx_packets, simnet_count(net, me, SIMNET_ANY, SIMNET_SENT));
    EXPECT_EQ(c.tx_bytes, net->sent_bytes[me]);
    EXPECT_EQ(c.rx_packets, net->arrived[me]);
    EXPECT_EQ(c.rx_bytes, net->got_bytes[me]);
    EXPECT_EQ(c.rx_icrc_encapsulated + c.rx_malformed, net->arrived_bad[me]);
    EXPECT_EQ(c.rx_not_roce + c.rx_bad_pkey + c.rx_no_group + c.rx_multicast, 0);
    EXPECT_EQ(c.packet_seq_nak, simnet_count(net, me, SIMNET_BIT(NAK_SEQ), SIMNET_SENT));
    EXPECT_EQ(c.resp_rnr_nak, simnet_count(net, me, SIMNET_BIT(NAK_RNR), SIMNET_SENT));
    EXPECT_EQ(c.resp_invalid_request + c.resp_remote_access_errors + c.resp_operational_errors,
              simnet_count(net, me, SIMNET_BIT(NAK_FATAL), SIMNET_SENT));
    EXPECT_EQ(c.np_cnp_sent, simnet_count(net, me, SIMNET_BIT(CNP), SIMNET_SENT));
    EXPECT_EQ(c.tx_retransmitted, t->again);
    EXPECT_EQ(c.req_cqe_error, sum_of(sends));
    EXPECT_EQ(c.req_cqe_flush_error, sends[RNIC_WC_WR_FLUSH_ERR]);
    EXPECT_EQ(c.resp_cqe_error, sum_of(receives));
    EXPECT_EQ(c.resp_cqe_flush_error, receives[RNIC_WC_WR_FLUSH_ERR]);
    EXPECT_EQ(c.resp_local_length_error, receives[RNIC_WC_LOC_LEN_ERR]);
    EXPECT_EQ(c.retry_exceeded_err, sends[RNIC_WC_RETRY_EXC_ERR]);
    EXPECT_EQ(c.rnr_retry_exceeded_err, sends[RNIC_WC_RNR_RETRY_EXC_ERR]);
    EXPECT_EQ(c.req_remote_invalid_request, sends[RNIC_WC_REM_INV_REQ_ERR]);
    EXPECT_EQ(c.req_remote_access_errors, sends[RNIC_WC_REM_ACCESS_ERR]);
    EXPECT_EQ(c.req_remote_operational_errors, sends[RNIC_WC_REM_OP_ERR]);
    EXPECT_EQ(c.bad_resp_err + c.rx_no_request + c.tx_too_long, 0);
    check_requesters(s, d, &c);
    if (s->hurt[d])
        return;
    EXPECT_EQ(c.rx_no_qp, 0);
    CU_ASSERT(c.packet_seq_nak <= t->seq_nak); /* the gap may be filled before the wire is free */
    if (net->path[0][1].bps == 0 && !s->paced)
        CU_ASSERT(c.packet_seq_nak + t->filled >= t->seq_nak);
    EXPECT_EQ(c.rp_cnp_handled + c.rp_cnp_ignored, net->got[me][SIMNET_CNP]);
    EXPECT_EQ(c.np_ecn_marked_roce_packets, t->marked);
    EXPECT_EQ(c.rx_send_requests, t->send);
    EXPECT_EQ(c.rx_write_requests, t->write);
    EXPECT_EQ(c.rx_read_requests, t->read);
    EXPECT_EQ(c.rx_atomic_requests, t->atomic);
    EXPECT_EQ(c.rx_atomic_write_requests, t->atomic_write);
    EXPECT_EQ(c.rx_flush_requests, t->flush);
    EXPECT_EQ(c.duplicate_request, t->duplicate);
    EXPECT_EQ(c.out_of_sequence, t->ahead);
    EXPECT_EQ(c.out_of_buffer, t->no_wqe);
    EXPECT_EQ(c.rx_uc_dropped, t->uc_dropped);
    EXPECT_EQ(c.rx_datagrams, t->datagrams);
    EXPECT_EQ(c.qkey_viol_cntr + c.rx_datagram_too_long, 0);
}

/* R213: a QP goes unless 2A windows are bound to it. The last that is looked at. */
static void check_held(struct scenario *s)
{
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned e = 0; e < 2; e++) {
            const struct scn_end *end = &s->link[i].end[e];

            EXPECT_EQ(rnic_qp_del(end->qp), end->bound_2a ? RNIC_ERR_BUSY : RNIC_OK);
            scenario_seen.held += end->bound_2a;
        }
    }
}

void scenario_check(struct scenario *s)
{
    struct rnic_event event;

    for (unsigned i = 0; i < s->link_cnt; i++) {
        check_end(&s->link[i], 0);
        check_end(&s->link[i], 1);
    }
    check_memory(s);
    if (s->perfect && !s->faults &&
        simnet_count(&s->fabric.net, -1, SIMNET_BIT(NAK_RNR), SIMNET_SENT) == 0)
        for (unsigned d = 0; d < s->fabric.dev_cnt; d++)
            CU_ASSERT(s->tally[d].again == 0 || s->hurt[d]);
    for (unsigned d = 0; d < s->fabric.dev_cnt; d++) {
        check_counters(s, d);
        EXPECT_EQ(rnic_deadline(s->fabric.dev[d].rnic), RNIC_NEVER); /* R151 */
        while (rnic_event_get(s->fabric.dev[d].rnic, &event))
            CU_ASSERT(s->hurt[d] || event.type == RNIC_EVENT_COMM_EST);
        for (unsigned k = 0; k <= RNIC_WC_GENERAL_ERR; k++)
            scenario_seen.status[k] += s->tally[d].status[0][k];
    }
    check_held(s);
    for (unsigned f = 0; f < SIMNET_FATE_CNT; f++)
        scenario_seen.fates[f] += simnet_count(&s->fabric.net, -1, SIMNET_ANY, (enum simnet_fate)f);
    for (unsigned k = 0; k < SIMNET_CLASS_CNT; k++)
        scenario_seen.classes[k] += simnet_count(&s->fabric.net, -1, 1u << k, SIMNET_SENT);
}
