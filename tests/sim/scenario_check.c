/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Compares the results of a scenario (memory, queues, counters, events) with the model
 * (scenario.h). */
#include <stdlib.h>
#include <string.h>
#include "scenario.h"
#include "support/suite.h"

/* If `sure`, sets the expected bytes to `to_be`. Otherwise checks that each byte in memory has its
 * old value or its value in `to_be`, and sets the expected bytes to the bytes in memory. */
static void put(struct scenario *s, unsigned dev, uint32_t off, const void *to_be, uint32_t len,
                bool sure)
{
    const uint8_t *now = s->fabric.dev[dev].mem + off;
    uint8_t *expected = s->expected[dev] + off;
    const uint8_t *bytes = to_be;

    for (uint32_t i = 0; i < len; i++) {
        if (!sure && now[i] != expected[i] && now[i] != bytes[i]) {
            suite_fail(__FILE__, __LINE__,
                       "byte 0x%x of device %u is 0x%02x, neither its old nor its new value",
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

    if (w->roff == 0) { /* several QPs add to this word, so only the sum of all their operands is
                         * known */
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

/* Returns whether a request changes no memory because it fails. Two kinds of failing requests do
 * change memory: an atomic if its response could not be stored, and a WRITE with immediate if its
 * last packet finds no receive WQE. */
static bool is_barren(const struct scn_link *l, const struct scn_wr *w)
{
    return w->wrong && l->accident != SCN_NO_RECV &&
           !(l->accident == SCN_BAD_LKEY && rnic_wr_is_atomic(w->opcode));
}

/* Applies a request to the expected memories of its two ends. SENDs are applied in take_recv(),
 * when they are received. */
static void settle(struct scenario *s, const struct scn_link *l, unsigned side,
                   const struct scn_wr *w)
{
    const struct scn_end *e = &l->end[side];
    const struct scn_end *o = &l->end[!side];
    bool sure = scenario_reliable(l) ? w->done : w->delivered;

    if (is_barren(l, w))
        return;
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
    scenario_seen.through_window[scenario_service(l)][w->window] += sure;
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
    /* accept any contents of buffers that an incomplete message may have changed */
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned e = 0; e < 2; e++) {
            const struct scn_end *end = &s->link[i].end[e];
            struct scn_pool *p = end->pool;

            for (unsigned k = 0; k < SCN_DEPTH; k++)
                if ((s->link[i].accident && !scenario_quiet(&s->link[i])) || end->held || p->untidy)
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
                suite_fail(__FILE__, __LINE__, "byte 0x%x of device %u is 0x%02x, expected 0x%02x",
                           i, d, now[i], s->expected[d][i]);
                break;
            }
        }
    }
}

/* Checks that all requests of an end completed. Checks that the PSNs received, sent and
 * acknowledged at the two ends are equal (R247, R248). */
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
    if (l->accident && !scenario_quiet(l) && !(l->accident == SCN_WINDOW && !l->hit))
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
    EXPECT_EQ(theirs.msn, messages); /* the MSN counts all messages (R102, R104) */
    EXPECT_EQ(o->epsn, e->psns);
}

/* Checks the requesters of a reliable link that had no error, no network fault, no CNP and no
 * bandwidth limit. They must have counted no sequence NAK, no implied NAK and no timeout (R061,
 * R099, R149). */
static void check_untroubled(const struct scenario *s, const struct scn_link *l)
{
    static const enum oracle_count troubles[] = {ORACLE_packet_seq_err, ORACLE_implied_nak_seq_err,
                                                 ORACLE_local_ack_timeout_err};

    if (!scenario_reliable(l) || l->accident || l->struck || s->fabric.net.path[0][1].bps ||
        l->end[0].slowed || l->end[1].slowed)
        return;
    for (unsigned e = 0; e < 2; e++)
        for (unsigned i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
            EXPECT_EQ(oracle_count(&l->end[e].witness, troubles[i]).most, 0);
    scenario_seen.untroubled++;
}

static uint64_t sum_of(const uint64_t status[RNIC_WC_GENERAL_ERR + 1])
{
    uint64_t sum = 0;

    for (unsigned i = 1; i <= RNIC_WC_GENERAL_ERR; i++)
        sum += status[i];
    return sum;
}

/* Compares the requester counters of a device with those that the packets determine. */
static void check_requesters(const struct scenario *s, unsigned d, const struct rnic_counters *c)
{
    const uint64_t counted[] = {
#define X(name) c->name,
        ORACLE_COUNTS(X)
#undef X
    };
    struct oracle_range sum[ORACLE_COUNT_CNT] = {{0, 0}};

    for (unsigned i = 0; i < s->link_cnt; i++)
        for (unsigned e = 0; e < 2; e++)
            if (s->link[i].end[e].dev == d)
                oracle_add(sum, &s->link[i].end[e].witness);
    oracle_check(sum, counted, d);
    for (unsigned k = 0; k < ORACLE_COUNT_CNT; k++) {
        if (sum[k].least == sum[k].most)
            scenario_seen.told[k]++;
        else
            scenario_seen.hidden[k]++;
    }
}

/* Compares each counter of a device with the packets and completions (R249). */
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
    EXPECT_EQ(c.rx_not_roce + c.rx_no_group + c.rx_multicast, 0);
    EXPECT_EQ(c.rx_no_qp, t->no_qp);
    EXPECT_EQ(c.rx_bad_pkey, t->pkey);
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
    EXPECT_EQ(c.bad_resp_err + c.rx_no_request, 0);
    check_requesters(s, d, &c);
    CU_ASSERT(c.packet_seq_nak + t->seq_nak_void <= t->seq_nak);
    if (!s->hurt[d]) /* a QP that failed has discarded its pending NAKs */
        CU_ASSERT(c.packet_seq_nak + t->seq_nak_void >= t->seq_nak);
    EXPECT_EQ(c.rp_cnp_handled, s->paced ? t->cnps : 0);
    EXPECT_EQ(c.rp_cnp_ignored, s->paced ? 0 : t->cnps);
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
    EXPECT_EQ(c.qkey_viol_cntr, t->qkey);
    EXPECT_EQ(c.rx_datagram_too_long, t->no_room);
    EXPECT_EQ(c.tx_too_long, t->over_mtu);
}

/* Destroys each QP. This must fail for a QP to which type 2A windows are bound (R213). Call this
 * function last. */
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
        check_untroubled(s, &s->link[i]);
    }
    check_memory(s);
    if (s->perfect && !s->faults &&
        simnet_count(&s->fabric.net, -1, SIMNET_BIT(NAK_RNR), SIMNET_SENT) == 0)
        for (unsigned d = 0; d < s->fabric.dev_cnt; d++)
            CU_ASSERT(s->tally[d].again == 0 || s->hurt[d]);
    for (unsigned d = 0; d < s->fabric.dev_cnt; d++) {
        check_counters(s, d);
        EXPECT_EQ(rnic_deadline(s->fabric.dev[d].rnic), RNIC_NEVER); /* no timer is left (R151) */
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
