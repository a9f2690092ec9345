/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "rig.h"

#include <stdlib.h>
#include "suite.h"

#define GUARD_BYTE 0xA5

static uint8_t frame[ROCE_FRAME_MAX]; /* the last one taken, for rig_out() */

struct rnic_attr rig_device_attr(const struct pktgen *gen)
{
    struct rnic_attr attr = {.gid_cnt = 1};

    memcpy(attr.mac, gen->dmac, 6);
    memcpy(attr.gid[0].gid, gen->dgid, 16);
    attr.gid[0].type = gen->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    memcpy(attr.seed, "a seed that makes tests the same", 32);
    return attr;
}

void rig_connect(struct rig *rig, struct rnic_qp *qp)
{
    struct rnic_qp_attr attr = rig->attr;

    attr.state = RNIC_QPS_INIT;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, rig->now), RNIC_OK);
    attr.state = RNIC_QPS_RTR;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, rig->now), RNIC_OK);
    attr.state = RNIC_QPS_RTS;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, rig->now), RNIC_OK);
}

void rig_init(struct rig *rig, enum roce_encap encap)
{
    rig_init_ecn(rig, encap, &(struct rnic_ecn){0});
}

void rig_init_ecn(struct rig *rig, enum roce_encap encap, const struct rnic_ecn *ecn)
{
    struct rnic_attr attr;
    struct rnic_mr_attr mr = {.len = RIG_MEM_LEN, .iova = RIG_IOVA, .access = 0xF, .key = RIG_KEY};
    struct rnic_qp_init qp = {.type = RNIC_QPT_RC,
                              .qpn = RIG_QPN,
                              .max_recv_wr = 64,
                              .max_recv_sge = 4,
                              .no_credits = true};

    memset(rig, 0, sizeof(*rig));
    pktgen_init(&rig->gen, encap);
    attr = rig_device_attr(&rig->gen);
    attr.ecn = *ecn;
    rig->block = malloc(RIG_MEM_LEN + 2 * RIG_GUARD);
    if (!rig->block)
        abort();
    memset(rig->block, GUARD_BYTE, RIG_MEM_LEN + 2 * RIG_GUARD);
    rig->mem = rig->block + RIG_GUARD;
    for (uint32_t i = 0; i < RIG_MEM_LEN; i++)
        rig->mem[i] = (uint8_t)(i * 13 + i / 251);
    rig->rnic = rnic_new(&attr);
    if (!rig->rnic)
        abort();
    mr.addr = rig->mem;
    EXPECT_EQ(rnic_pd_new(rig->rnic, &rig->pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(rig->pd, &mr, &rig->mr), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(rig->rnic, 256, &rig->cq), RNIC_OK);
    qp.recv_cq = rig->cq;
    EXPECT_EQ(rnic_qp_new(rig->pd, &qp, &rig->qp), RNIC_OK);
    rig->attr = (struct rnic_qp_attr){
        .access = 0xF,
        .pkey = 0xFFFF,
        .av = {.tclass = 0x68, .hop_limit = 17, .udp_sport = 0xD00D},
        .path_mtu = 1024,
        .dest_qpn = RIG_PEER_QPN,
        .rq_psn = RIG_PSN,
        .max_dest_rd_atomic = 4,
        .min_rnr_timer = 12,
    };
    memcpy(rig->attr.av.dmac, rig->gen.smac, 6);
    memcpy(rig->attr.av.dgid, rig->gen.sgid, 16);
    rig_connect(rig, rig->qp);
}

void rig_free(struct rig *rig)
{
    rnic_del(rig->rnic);
    for (uint32_t i = 0; i < RIG_GUARD; i++) {
        if (rig->block[i] != GUARD_BYTE || rig->mem[RIG_MEM_LEN + i] != GUARD_BYTE) {
            suite_fail(__FILE__, __LINE__, "guard byte %u was written", i);
            break;
        }
    }
    free(rig->block);
}

int rig_post(struct rig *rig, uint64_t wr_id, uint32_t off, uint32_t len)
{
    const struct rnic_sge sge = {.addr = RIG_IOVA + off, .len = len, .lkey = RIG_KEY};
    const struct rnic_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .sge_cnt = 1};

    return rnic_post_recv(rig->qp, &wr);
}

void rig_in(struct rig *rig, const struct roce_pkt *pkt)
{
    struct pktgen_frame in;

    pktgen_build(pkt, &in);
    rig->now += 1000;
    rnic_input(rig->rnic, in.bytes, in.len, rig->now);
}

bool rig_out(struct rig *rig, struct roce_pkt *pkt)
{
    size_t len = rnic_output(rig->rnic, frame, sizeof(frame), rig->now);

    if (len == 0)
        return false;
    EXPECT_EQ(roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, frame, len, len), ROCE_OK);
    EXPECT_EQ(pkt->defects, 0);
    EXPECT_EQ(roce_pkt_icrc_check(pkt, NULL), ROCE_ICRC_GOOD);
    return true;
}

void rig_expect_aeth(struct rig *rig, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
    struct roce_pkt pkt;

    if (!rig_out(rig, &pkt)) {
        suite_fail(__FILE__, __LINE__, "nothing came out; wanted syndrome 0x%02x", syndrome);
        return;
    }
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ACK);
    EXPECT_EQ(pkt.bth.psn, psn & ROCE_PSN_MASK);
    EXPECT_EQ(pkt.aeth.syndrome, syndrome);
    EXPECT_EQ(pkt.aeth.msn, msn);
}

void rig_expect_nothing(struct rig *rig)
{
    struct roce_pkt pkt;

    CU_ASSERT(!rig_out(rig, &pkt));
}

void rig_expect_wc(struct rig *rig, uint64_t wr_id, enum rnic_wc_status status)
{
    struct rnic_wc wc;

    if (rnic_cq_poll(rig->cq, &wc, 1) != 1) {
        suite_fail(__FILE__, __LINE__, "no completion; wanted %s", rnic_wc_status_name(status));
        return;
    }
    EXPECT_EQ(wc.wr_id, wr_id);
    EXPECT_EQ(wc.status, status);
    EXPECT_EQ(wc.qpn, RIG_QPN);
}

void rig_expect_event(struct rig *rig, enum rnic_event_type type)
{
    struct rnic_event event;

    if (!rnic_event_get(rig->rnic, &event)) {
        suite_fail(__FILE__, __LINE__, "no event; wanted type %d", (int)type);
        return;
    }
    EXPECT_EQ(event.type, type);
    CU_ASSERT(event.qp == rig->qp);
}

void rig_expect_no_event(struct rig *rig)
{
    struct rnic_event event;

    CU_ASSERT(!rnic_event_get(rig->rnic, &event));
}

enum rnic_qp_state rig_state(const struct rig *rig)
{
    struct rnic_qp_view view;

    rnic_qp_view(rig->qp, &view);
    return view.state;
}

struct rnic_counters rig_counters(const struct rig *rig)
{
    struct rnic_counters counters;

    rnic_counters_get(rig->rnic, &counters);
    return counters;
}
