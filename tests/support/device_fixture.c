/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device_fixture.h"

#include <stdlib.h>
#include "suite.h"

#define GUARD_BYTE 0xA5

/* Frame of the latest packet that fixture_out() returned. The packet points into this buffer. */
static uint8_t frame[ROCE_FRAME_MAX];

struct rnic_attr fixture_device_attr(const struct pktgen *gen)
{
    struct rnic_attr attr = {.gid_cnt = 1};

    memcpy(attr.mac, gen->dmac, 6);
    memcpy(attr.gid[0].gid, gen->dgid, 16);
    attr.gid[0].type = gen->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    attr.seed = 1; /* fixed seed, so that keys and QPNs are the same in each run */
    return attr;
}

void fixture_connect(struct device_fixture *fixture, struct rnic_qp *qp)
{
    struct rnic_qp_attr attr = fixture->attr;

    attr.state = RNIC_QPS_INIT;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, fixture->now), RNIC_OK);
    attr.state = RNIC_QPS_RTR;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, fixture->now), RNIC_OK);
    attr.state = RNIC_QPS_RTS;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, fixture->now), RNIC_OK);
}

void fixture_init(struct device_fixture *fixture, enum roce_encap encap)
{
    fixture_init_ecn(fixture, encap, &(struct rnic_ecn){0});
}

void fixture_init_ecn(struct device_fixture *fixture, enum roce_encap encap,
                      const struct rnic_ecn *ecn)
{
    struct rnic_attr attr;
    struct rnic_mr_attr mr = {
        .len = FIXTURE_MEM_LEN, .iova = FIXTURE_IOVA, .access = 0xF, .key = FIXTURE_KEY};
    struct rnic_qp_init qp = {.type = RNIC_QPT_RC,
                              .qpn = FIXTURE_QPN,
                              .max_recv_wr = 64,
                              .max_recv_sge = 4,
                              .no_credits = true};

    memset(fixture, 0, sizeof(*fixture));
    pktgen_init(&fixture->gen, encap);
    attr = fixture_device_attr(&fixture->gen);
    attr.ecn = *ecn;
    fixture->block = malloc(FIXTURE_MEM_LEN + 2 * FIXTURE_GUARD);
    if (!fixture->block)
        abort();
    memset(fixture->block, GUARD_BYTE, FIXTURE_MEM_LEN + 2 * FIXTURE_GUARD);
    fixture->mem = fixture->block + FIXTURE_GUARD;
    for (uint32_t i = 0; i < FIXTURE_MEM_LEN; i++)
        fixture->mem[i] = (uint8_t)(i * 13 + i / 251);
    fixture->rnic = rnic_new(&attr);
    if (!fixture->rnic)
        abort();
    mr.addr = fixture->mem;
    EXPECT_EQ(rnic_pd_new(fixture->rnic, &fixture->pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(fixture->pd, &mr, &fixture->mr), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(fixture->rnic, 256, &fixture->cq), RNIC_OK);
    qp.recv_cq = fixture->cq;
    EXPECT_EQ(rnic_qp_new(fixture->pd, &qp, &fixture->qp), RNIC_OK);
    fixture->attr = (struct rnic_qp_attr){
        .access = 0xF,
        .pkey = 0xFFFF,
        .av = {.tclass = 0x68, .hop_limit = 17, .udp_sport = 0xD00D},
        .path_mtu = 1024,
        .dest_qpn = FIXTURE_PEER_QPN,
        .rq_psn = FIXTURE_PSN,
        .max_dest_rd_atomic = 4,
        .min_rnr_timer = 12,
    };
    memcpy(fixture->attr.av.dmac, fixture->gen.smac, 6);
    memcpy(fixture->attr.av.dgid, fixture->gen.sgid, 16);
    fixture_connect(fixture, fixture->qp);
}

void fixture_free(struct device_fixture *fixture)
{
    rnic_del(fixture->rnic);
    for (uint32_t i = 0; i < FIXTURE_GUARD; i++) {
        if (fixture->block[i] != GUARD_BYTE || fixture->mem[FIXTURE_MEM_LEN + i] != GUARD_BYTE) {
            suite_fail(__FILE__, __LINE__, "guard byte %u was written", i);
            break;
        }
    }
    free(fixture->block);
}

int fixture_post(struct device_fixture *fixture, uint64_t wr_id, uint32_t off, uint32_t len)
{
    const struct rnic_sge sge = {.addr = FIXTURE_IOVA + off, .len = len, .lkey = FIXTURE_KEY};
    const struct rnic_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .sge_cnt = 1};

    return rnic_post_recv(fixture->qp, &wr);
}

void fixture_in(struct device_fixture *fixture, const struct roce_pkt *pkt)
{
    struct pktgen_frame in;

    pktgen_build(pkt, &in);
    fixture->now += 1000;
    rnic_input(fixture->rnic, in.bytes, in.len, fixture->now);
}

bool fixture_out(struct device_fixture *fixture, struct roce_pkt *pkt)
{
    size_t len = rnic_output(fixture->rnic, frame, sizeof(frame), fixture->now);

    if (len == 0)
        return false;
    EXPECT_EQ(roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, frame, len, len), ROCE_OK);
    EXPECT_EQ(pkt->defects, 0);
    EXPECT_EQ(roce_pkt_icrc_check(pkt, NULL), ROCE_ICRC_GOOD);
    return true;
}

void fixture_expect_aeth(struct device_fixture *fixture, uint32_t psn, uint8_t syndrome,
                         uint32_t msn)
{
    struct roce_pkt pkt;

    if (!fixture_out(fixture, &pkt)) {
        suite_fail(__FILE__, __LINE__, "nothing came out; wanted syndrome 0x%02x", syndrome);
        return;
    }
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ACK);
    EXPECT_EQ(pkt.bth.psn, psn & ROCE_PSN_MASK);
    EXPECT_EQ(pkt.aeth.syndrome, syndrome);
    EXPECT_EQ(pkt.aeth.msn, msn);
}

void fixture_expect_nothing(struct device_fixture *fixture)
{
    struct roce_pkt pkt;

    CU_ASSERT(!fixture_out(fixture, &pkt));
}

void fixture_expect_wc(struct device_fixture *fixture, uint64_t wr_id, enum rnic_wc_status status)
{
    struct rnic_wc wc;

    if (rnic_cq_poll(fixture->cq, &wc, 1) != 1) {
        suite_fail(__FILE__, __LINE__, "no completion; wanted %s", rnic_wc_status_name(status));
        return;
    }
    EXPECT_EQ(wc.wr_id, wr_id);
    EXPECT_EQ(wc.status, status);
    EXPECT_EQ(wc.qpn, FIXTURE_QPN);
}

void fixture_expect_event(struct device_fixture *fixture, enum rnic_event_type type)
{
    struct rnic_event event;

    if (!rnic_event_get(fixture->rnic, &event)) {
        suite_fail(__FILE__, __LINE__, "no event; wanted type %d", (int)type);
        return;
    }
    EXPECT_EQ(event.type, type);
    CU_ASSERT(event.qp == fixture->qp);
}

void fixture_expect_no_event(struct device_fixture *fixture)
{
    struct rnic_event event;

    CU_ASSERT(!rnic_event_get(fixture->rnic, &event));
}

enum rnic_qp_state fixture_state(const struct device_fixture *fixture)
{
    struct rnic_qp_view view;

    rnic_qp_view(fixture->qp, &view);
    return view.state;
}

struct rnic_counters fixture_counters(const struct device_fixture *fixture)
{
    struct rnic_counters counters;

    rnic_counters_get(fixture->rnic, &counters);
    return counters;
}
