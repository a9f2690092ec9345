/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <string.h>
#include "scenario.h"
#include "support/suite.h"
#include "wire/codes.h"
#include "wire/crc32.h"

/* Returns the end on device `from` that sends requests to QPN `qpn` of device `to`. `to` -1 means
 * any device. */
static struct scn_end *sender_of(struct scenario *s, unsigned from, int to, uint32_t qpn,
                                 struct scn_link **link)
{
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned e = 0; e < 2; e++) {
            struct scn_end *o = &s->link[i].end[!e];

            *link = &s->link[i];
            if (s->link[i].end[e].dev == from &&
                (o->target_qpn == qpn || (qpn && s->link[i].end[e].lost_qpn == qpn)) &&
                (to < 0 || o->dev == (unsigned)to))
                return &s->link[i].end[e];
        }
    }
    return NULL;
}

/* ---- sent packets ---------------------------------------------------------------------------- */

static void feed_judge(struct scenario *s, const struct roce_pkt *pkt, uint64_t now)
{
    const struct roce_flow_in in = {
        .pkt = pkt, .frame = ++s->frame, .time = now, .icrc = roce_pkt_icrc_check(pkt, NULL)};

    EXPECT_EQ(in.icrc, ROCE_ICRC_GOOD);
    EXPECT_EQ(pkt->defects, 0);
    roce_flow_feed(s->judge, &in, NULL);
}

/* Checks that reserved bits are zero. Checks that pad bytes are zero and fill the payload to a
 * multiple of 4 bytes (R026, R027). */
static void check_form(const struct roce_pkt *pkt)
{
    static const uint8_t zero[4];

    EXPECT_EQ(pkt->bth.resv6 | pkt->bth.resv7 | pkt->bth.fecn, 0);
    EXPECT_EQ(pkt->bth.becn, pkt->op->kind == ROCE_KIND_CNP);
    EXPECT_EQ(pkt->bth.padcnt, -pkt->payload_len & 3);
    EXPECT_EQ(pkt->payload_off + pkt->payload_len + pkt->bth.padcnt, pkt->icrc_off);
    CU_ASSERT(memcmp(pkt->frame + pkt->icrc_off - pkt->bth.padcnt, zero, pkt->bth.padcnt) == 0);
}

/* Checks the payload lengths: First and Middle packets are full, Last packets are not empty, and no
 * packet is longer than the MTU (R038, R039). */
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

/* Checks that a CNP goes to the QP, on the right device, that sent a packet with a congestion mark
 * (R214, R215). */
static void check_cnp(struct scenario *s, const struct simnet_event *event)
{
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned e = 0; e < 2; e++) {
            const struct scn_end *to = &s->link[i].end[e];

            if (s->link[i].type != RNIC_QPT_UD && (int)to->dev == event->to &&
                s->link[i].end[!e].dev == event->from &&
                (to->qpn == event->pkt->bth.dest_qp || to->target_qpn == event->pkt->bth.dest_qp ||
                 s->link[i].end[!e].lost_qpn == event->pkt->bth.dest_qp))
                return;
        }
    }
    suite_fail(__FILE__, __LINE__,
               "a CNP to QP %06x of device %d, which has no connection to this device",
               event->pkt->bth.dest_qp, event->to);
}

/* Returns the end that sent a response. */
static struct scn_end *responder_of(struct scenario *s, const struct simnet_event *event,
                                    struct scn_end **to)
{
    uint32_t qpn = event->pkt->bth.dest_qp;

    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned k = 0; k < 2; k++) {
            struct scn_end *e = &s->link[i].end[k];

            *to = &s->link[i].end[!k];
            if (e->dev == event->from && (int)(*to)->dev == event->to &&
                ((*to)->qpn == qpn || (qpn && e->lost_qpn == qpn)))
                return e;
        }
    }
    return NULL;
}

static void check_nak(struct scenario *s, const struct simnet_event *event)
{
    struct scn_end *to;
    struct scn_end *e = responder_of(s, event, &to);

    if (!e) {
        suite_fail(__FILE__, __LINE__, "a NAK to QP %06x, which the scenario does not have",
                   event->pkt->bth.dest_qp);
    } else if (event->cls == SIMNET_NAK_RNR) { /* an RNR NAK has the RNR timer of the QP that sent
                                                * it (R097) */
        EXPECT_EQ(roce_syndrome_code(event->pkt->aeth.syndrome), e->rnr_code);
    } else { /* there is one NAK for each gap; it has the PSN expected at the time of sending (R067,
              * R068) */
        CU_ASSERT(e->nak_due);
        EXPECT_EQ(event->pkt->bth.psn, (to->sq_psn + e->epsn) & ROCE_PSN_MASK);
        e->nak_due = false;
    }
}

/* Checks a request packet. New requests continue the PSN sequence (R057-R059). A retransmission
 * must equal the first transmission (R153), except that a READ may request only its remaining part
 * (R112). */
static void check_request(struct scenario *s, struct scn_link *l, struct scn_end *e,
                          const struct roce_pkt *pkt)
{
    uint32_t at = (pkt->bth.psn - e->sq_psn) & ROCE_PSN_MASK;
    struct scn_tally *t = &s->tally[e->dev];
    uint32_t cnt = pkt->op->kind == ROCE_KIND_READ ? roce_psn_cnt(pkt->reth.dma_len, l->mtu) : 1;
    uint32_t hash =
        roce_crc32(0, pkt->frame + pkt->off[ROCE_HDR_BTH], pkt->icrc_off - pkt->off[ROCE_HDR_BTH]);

    EXPECT_EQ(pkt->bth.pkey, e->pkey); /* requests have the P_Key of their QP (R045) */
    hash += hash == 0;
    if (at >= e->psns) {
        suite_fail(__FILE__, __LINE__, "PSN %06x belongs to no request of QP %06x", pkt->bth.psn,
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
        oracle_sent(&e->witness, pkt, s->fabric.net.now);
}

/* Counts in scenario_seen the faults that the network applied to a packet. */
static void note(struct scenario *s, unsigned from, int to, const struct roce_pkt *pkt,
                 enum simnet_class cls, unsigned fates)
{
    struct scn_link *l;
    struct scn_end *e;
    const struct scn_wr *w;
    uint64_t *seen;

    if (pkt->encap == ROCE_ENCAP_V1)
        fates &= ~(1u << SIMNET_MARKED); /* RoCEv1 has no IP header, so no ECN field */
    if (cls == SIMNET_CNP || !roce_opcode_is_request(pkt->op)) {
        seen = scenario_seen.answers[pkt->op->svc == ROCE_SVC_XRC ? 3 : 0][cls];
    } else {
        e = sender_of(s, from, to, pkt->bth.dest_qp, &l);
        w = e ? scenario_wr_at(e, (pkt->bth.psn - e->sq_psn) & ROCE_PSN_MASK) : NULL;
        if (!w)
            return;
        seen = scenario_seen.struck[scenario_service(l)][w->opcode];
    }
    for (unsigned f = 0; f < SIMNET_FATE_CNT; f++)
        seen[f] += fates >> f & 1;
}

/* Marks the link of a packet if the network applied a fault to the packet. */
static void note_struck(struct scenario *s, unsigned from, int to, const struct roce_pkt *pkt,
                        unsigned fates)
{
    if ((fates & ~(1u << SIMNET_SENT | 1u << SIMNET_MARKED)) == 0)
        return;
    for (unsigned i = 0; i < s->link_cnt; i++)
        for (unsigned e = 0; e < 2; e++)
            if (s->link[i].end[!e].dev == from && (int)s->link[i].end[e].dev == to &&
                (s->link[i].end[e].qpn == pkt->bth.dest_qp ||
                 s->link[i].end[e].target_qpn == pkt->bth.dest_qp))
                s->link[i].struck = true;
}

void scenario_switched(void *ctx, unsigned from, unsigned to, const uint8_t *frame, size_t len,
                       enum simnet_fate fate)
{
    struct roce_pkt pkt;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0)
        return;
    note(ctx, from, (int)to, &pkt, simnet_classify(&pkt), 1u << fate);
    note_struck(ctx, from, (int)to, &pkt, 1u << fate);
}

void scenario_observe(void *ctx, const struct simnet_event *event)
{
    struct scenario *s = ctx;
    const struct roce_pkt *pkt = event->pkt;
    struct scn_link *l;
    struct scn_end *e;

    feed_judge(s, pkt, event->now);
    note(s, event->from, event->to, pkt, event->cls, event->fates);
    note_struck(s, event->from, event->to, pkt, event->fates);
    check_form(pkt);
    if (event->cls == SIMNET_CNP) {
        EXPECT_EQ(pkt->bth.pkey, 0xFFFF);
        check_cnp(s, event);
        return;
    }
    if (!roce_opcode_is_request(pkt->op)) {
        EXPECT_EQ(pkt->bth.pkey, 0xFFFF); /* a QP with another P_Key receives no request, so all
                                           * responses have the default P_Key */
        EXPECT_EQ(pkt->bth.ackreq, 0);    /* no response has AckReq (R043) */
        EXPECT_EQ(pkt->bth.se, 0);        /* no response has the solicited bit (R041) */
        if (event->cls == SIMNET_NAK_RNR || event->cls == SIMNET_NAK_SEQ)
            check_nak(s, event);
        return;
    }
    e = sender_of(s, event->from, event->to, pkt->bth.dest_qp, &l);
    if (e) {
        check_size(l, pkt);
        check_request(s, l, e, pkt);
        return;
    }
    suite_fail(__FILE__, __LINE__, "a request to QP %06x, which the scenario does not have",
               pkt->bth.dest_qp);
}
