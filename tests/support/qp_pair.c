/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "qp_pair.h"

#include <stdlib.h>
#include <string.h>
#include "node.h"
#include "pktgen.h"
#include "suite.h"

#define GUARD_BYTE 0x5A

uint32_t qp_pair_qpn(unsigned side, unsigned i)
{
    return 0x100 * (side + 1) + i;
}

static void make_device(struct qp_pair_side *side, const uint8_t mac[6], const uint8_t gid[16],
                        enum rnic_gid_type type, uint64_t seed, bool mw_2a)
{
    struct rnic_attr attr = {.gid_cnt = 1, .mw_2a = mw_2a};
    struct rnic_mr_attr mr = {
        .len = QP_PAIR_MEM, .iova = QP_PAIR_IOVA, .access = RNIC_ACCESS_ALL, .key = QP_PAIR_KEY};
    struct rng rng = rng_of(seed);

    memcpy(attr.mac, mac, 6);
    memcpy(attr.gid[0].gid, gid, 16);
    attr.gid[0].type = type;
    attr.seed = rng_u64(&rng);
    side->rnic = rnic_new(&attr);
    side->block = malloc(QP_PAIR_MEM + 2 * QP_PAIR_GUARD);
    if (!side->rnic || !side->block)
        abort();
    memset(side->block, GUARD_BYTE, QP_PAIR_MEM + 2 * QP_PAIR_GUARD);
    side->mem = side->block + QP_PAIR_GUARD;
    for (uint32_t i = 0; i < QP_PAIR_MEM; i += 8) {
        uint64_t v = rng_u64(&rng);

        memcpy(side->mem + i, &v, 8);
    }
    mr.addr = side->mem;
    EXPECT_EQ(rnic_pd_new(side->rnic, &side->pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(side->pd, &mr, &side->mr), RNIC_OK);
}

static void make_srq(struct qp_pair_side *side, unsigned s, unsigned i, uint32_t depth, bool xrc)
{
    struct rnic_srq_init init = {
        .max_wr = depth, .max_sge = 4, .srqn = qp_pair_qpn(s, i) + QP_PAIR_TARGET};

    if (xrc && !side->xrcd)
        EXPECT_EQ(rnic_xrcd_new(side->rnic, &side->xrcd), RNIC_OK);
    if (xrc) {
        init.xrcd = side->xrcd;
        init.cq = side->recv_cq[i];
    }
    EXPECT_EQ(rnic_srq_new(side->pd, &init, &side->srq[i]), RNIC_OK);
}

static void make_qp(struct qp_pair_side *side, unsigned s, unsigned i, uint32_t depth,
                    const struct qp_pair_opts *opts)
{
    bool xrc = opts->type == RNIC_QPT_XRC_SEND;
    struct rnic_qp_init init = {.type = opts->type ? opts->type : RNIC_QPT_RC,
                                .qpn = qp_pair_qpn(s, i),
                                .max_recv_wr = depth,
                                .max_recv_sge = 4,
                                .max_send_wr = depth,
                                .max_send_sge = 4,
                                .max_inline = 64,
                                .no_credits = opts->no_credits};

    EXPECT_EQ(rnic_cq_new(side->rnic, 2 * depth + 16, &side->send_cq[i]), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(side->rnic, 2 * depth + 16, &side->recv_cq[i]), RNIC_OK);
    if (xrc || opts->srq)
        make_srq(side, s, i, depth, xrc);
    init.send_cq = side->send_cq[i];
    init.recv_cq = side->recv_cq[i];
    init.srq = xrc ? NULL : side->srq[i];
    EXPECT_EQ(rnic_qp_new(side->pd, &init, &side->qp[i]), RNIC_OK);
    side->target[i] = side->qp[i];
    if (xrc) {
        init = (struct rnic_qp_init){.type = RNIC_QPT_XRC_RECV,
                                     .qpn = qp_pair_qpn(s, i) + QP_PAIR_TARGET,
                                     .xrcd = side->xrcd};
        EXPECT_EQ(rnic_qp_new(side->pd, &init, &side->target[i]), RNIC_OK);
    }
    side->attr[i] = (struct rnic_qp_attr){
        .access = RNIC_ACCESS_ALL,
        .pkey = 0xFFFF,
        .path_mtu = 1024,
        .dest_qpn = qp_pair_qpn(!s, i),
        .rq_psn = s ? 0xFFFFF4 : 0xFFFFFB,
        .sq_psn = s ? 0xFFFFFB : 0xFFFFF4,
        .max_dest_rd_atomic = 4,
        .max_rd_atomic = 4,
        .min_rnr_timer = 1,
        .timeout = 8,
        .retry_cnt = 7,
        .rnr_retry = 7,
    };
}

void qp_pair_init(struct qp_pair *pair, uint64_t seed, enum roce_encap encap, unsigned qp_cnt,
                  uint32_t depth)
{
    const struct qp_pair_opts opts = {.type = RNIC_QPT_RC};

    qp_pair_init_as(pair, seed, encap, qp_cnt, depth, &opts);
}

void qp_pair_init_as(struct qp_pair *pair, uint64_t seed, enum roce_encap encap, unsigned qp_cnt,
                     uint32_t depth, const struct qp_pair_opts *opts)
{
    enum rnic_gid_type type = encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    struct pktgen gen;

    memset(pair, 0, sizeof(*pair));
    simnet_init(&pair->net, seed);
    pktgen_init(&gen, encap);
    pair->qp_cnt = qp_cnt;
    for (unsigned s = 0; s < 2; s++) {
        const uint8_t *mac = s ? gen.dmac : gen.smac;
        struct simnet_node node;

        make_device(&pair->side[s], mac, s ? gen.dgid : gen.sgid, type, 2 * seed + s,
                    opts && opts->mw_2a);
        for (unsigned i = 0; i < qp_cnt; i++) {
            struct rnic_av *av = &pair->side[s].attr[i].av;

            make_qp(&pair->side[s], s, i, depth, opts);
            memcpy(av->dmac, s ? gen.smac : gen.dmac, 6);
            memcpy(av->dgid, s ? gen.sgid : gen.dgid, 16);
        }
        node = node_of(pair->side[s].rnic, mac);
        pair->node[s] = simnet_add(&pair->net, &node);
    }
}

void qp_pair_free(struct qp_pair *pair)
{
    for (unsigned s = 0; s < 2; s++) {
        struct qp_pair_side *side = &pair->side[s];

        rnic_del(side->rnic);
        for (uint32_t i = 0; i < QP_PAIR_GUARD; i++) {
            if (side->block[i] != GUARD_BYTE || side->mem[QP_PAIR_MEM + i] != GUARD_BYTE) {
                suite_fail(__FILE__, __LINE__, "guard byte %u of side %u was written", i, s);
                break;
            }
        }
        free(side->block);
    }
    simnet_free(&pair->net);
}

void qp_pair_connect(struct qp_pair *pair)
{
    static const enum rnic_qp_state states[] = {RNIC_QPS_INIT, RNIC_QPS_RTR, RNIC_QPS_RTS};

    for (unsigned s = 0; s < 2; s++) {
        for (unsigned i = 0; i < pair->qp_cnt; i++) {
            struct qp_pair_side *side = &pair->side[s];
            struct rnic_qp_attr attr = side->attr[i];

            /* With XRC, an initiator is always connected to a target of the opposite side. */
            if (side->target[i] != side->qp[i])
                attr.dest_qpn += QP_PAIR_TARGET;
            for (unsigned k = 0; k < 3; k++) {
                attr.state = states[k];
                EXPECT_EQ(rnic_qp_modify(side->qp[i], &attr, pair->net.now), RNIC_OK);
                if (side->target[i] == side->qp[i])
                    continue;
                attr.dest_qpn -= QP_PAIR_TARGET;
                EXPECT_EQ(rnic_qp_modify(side->target[i], &attr, pair->net.now), RNIC_OK);
                attr.dest_qpn += QP_PAIR_TARGET;
            }
        }
    }
}

int qp_pair_send(struct qp_pair *pair, unsigned side, unsigned qp, uint64_t wr_id,
                 enum rnic_wr_opcode opcode, uint32_t off, uint32_t len, uint32_t roff)
{
    const struct rnic_sge sge = {QP_PAIR_IOVA + off, len, QP_PAIR_KEY};
    const struct rnic_send_wr wr = {.wr_id = wr_id,
                                    .opcode = opcode,
                                    .flags = RNIC_SEND_SIGNALED,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .remote_addr = QP_PAIR_IOVA + roff,
                                    .rkey = QP_PAIR_KEY,
                                    .srqn = qp_pair_qpn(!side, qp) + QP_PAIR_TARGET};

    return rnic_post_send(pair->side[side].qp[qp], &wr);
}

int qp_pair_post_recv(struct qp_pair *pair, unsigned side, unsigned qp,
                      const struct rnic_recv_wr *wr)
{
    struct qp_pair_side *s = &pair->side[side];

    return s->srq[qp] ? rnic_post_srq_recv(s->srq[qp], wr) : rnic_post_recv(s->qp[qp], wr);
}

int qp_pair_recv(struct qp_pair *pair, unsigned side, unsigned qp, uint64_t wr_id, uint32_t off,
                 uint32_t len)
{
    const struct rnic_sge sge = {QP_PAIR_IOVA + off, len, QP_PAIR_KEY};
    const struct rnic_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .sge_cnt = 1};

    return qp_pair_post_recv(pair, side, qp, &wr);
}

bool qp_pair_run(struct qp_pair *pair, uint64_t ns)
{
    return simnet_run(&pair->net, pair->net.now + ns);
}

void qp_pair_expect_wc(struct rnic_cq *cq, uint64_t wr_id, enum rnic_wc_status status)
{
    struct rnic_wc wc;

    if (rnic_cq_poll(cq, &wc, 1) != 1) {
        suite_fail(__FILE__, __LINE__, "no completion; wanted wr_id %llu, %s",
                   (unsigned long long)wr_id, rnic_wc_status_name(status));
        return;
    }
    EXPECT_EQ(wc.wr_id, wr_id);
    if (wc.status != status)
        suite_fail(__FILE__, __LINE__, "wr_id %llu: status %s, wanted %s",
                   (unsigned long long)wr_id, rnic_wc_status_name(wc.status),
                   rnic_wc_status_name(status));
}

void qp_pair_expect_no_wc(struct rnic_cq *cq)
{
    struct rnic_wc wc;

    EXPECT_EQ(rnic_cq_poll(cq, &wc, 1), 0);
}

struct rnic_counters qp_pair_counters(const struct qp_pair *pair, unsigned side)
{
    struct rnic_counters counters;

    rnic_counters_get(pair->side[side].rnic, &counters);
    return counters;
}

enum rnic_qp_state qp_pair_state(const struct qp_pair *pair, unsigned side, unsigned qp)
{
    struct rnic_qp_view view;

    rnic_qp_view(pair->side[side].qp[qp], &view);
    return view.state;
}

void qp_pair_check_tally(struct qp_pair *pair)
{
    const unsigned requests = SIMNET_BIT(DATA) | SIMNET_BIT(READ) | SIMNET_BIT(ATOMIC);
    const struct simnet *net = &pair->net;

    for (unsigned s = 0; s < 2; s++) {
        struct rnic_counters c = qp_pair_counters(pair, s);
        int me = (int)pair->node[s];
        int peer = (int)pair->node[!s];
        uint64_t whole = simnet_count(net, peer, requests, SIMNET_DELIVERED) -
                         simnet_count(net, peer, requests, SIMNET_BAD);

        EXPECT_EQ(c.tx_packets, simnet_count(net, me, SIMNET_ANY, SIMNET_SENT));
        EXPECT_EQ(c.tx_bytes, net->sent_bytes[me]);
        EXPECT_EQ(c.rx_packets, net->arrived[me]);
        EXPECT_EQ(c.rx_bytes, net->got_bytes[me]);
        EXPECT_EQ(c.np_cnp_sent, simnet_count(net, me, SIMNET_BIT(CNP), SIMNET_SENT));
        EXPECT_EQ(c.rp_cnp_handled + c.rp_cnp_ignored, net->got[me][SIMNET_CNP]);
        if (c.rx_no_qp == 0)
            EXPECT_EQ(c.np_ecn_marked_roce_packets,
                      simnet_sum(net->marked[me], requests | SIMNET_BIT(READ_RESP)));
        EXPECT_EQ(c.rx_icrc_encapsulated + c.rx_malformed, net->arrived_bad[me]);
        EXPECT_EQ(c.packet_seq_nak, simnet_count(net, me, SIMNET_BIT(NAK_SEQ), SIMNET_SENT));
        EXPECT_EQ(c.resp_rnr_nak, simnet_count(net, me, SIMNET_BIT(NAK_RNR), SIMNET_SENT));
        EXPECT_EQ(c.resp_invalid_request + c.resp_remote_access_errors + c.resp_operational_errors,
                  simnet_count(net, me, SIMNET_BIT(NAK_FATAL), SIMNET_SENT));
        /* only an upper bound is known here; sim/traffic.c checks the exact numbers with an oracle
         * (requester_oracle.h) */
        CU_ASSERT(c.packet_seq_err <=
                  simnet_count(net, peer, SIMNET_BIT(NAK_SEQ), SIMNET_DELIVERED));
        CU_ASSERT(c.rnr_nak_retry_err <=
                  simnet_count(net, peer, SIMNET_BIT(NAK_RNR), SIMNET_DELIVERED));
        EXPECT_EQ(c.rx_not_roce, 0);
        EXPECT_EQ(c.rx_no_request, 0);
        /* Every valid request was executed, or refused, and one counter shows which. */
        if (c.resp_invalid_request + c.resp_remote_access_errors + c.resp_operational_errors == 0 &&
            c.rx_no_qp == 0)
            EXPECT_EQ(c.rx_send_requests + c.rx_write_requests + c.rx_read_requests +
                          c.rx_atomic_requests + c.rx_atomic_write_requests + c.rx_flush_requests +
                          c.duplicate_request + c.out_of_sequence + c.out_of_buffer,
                      whole);
    }
}
