/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Multicast groups: R048, R052, R175, R177 of rnic/rules.md. */
#include "support/device_fixture.h"
#include "support/suite.h"

#define QPS  4u
#define QKEY 0x2222u

static struct device_fixture fixture;
static struct rnic_qp *ud[QPS];
static const uint8_t group4[16] = {[10] = 0xFF, 0xFF, 239, 1, 2, 3};
static const uint8_t other4[16] = {[10] = 0xFF, 0xFF, 239, 1, 2, 4};
static const uint8_t group6[16] = {0xFF, 0x0E, [14] = 0x12, 0x34};

static void begin(enum roce_encap encap)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_UD,
                                .max_recv_wr = 8,
                                .max_recv_sge = 1,
                                .max_send_wr = 4,
                                .max_send_sge = 1};

    fixture_init(&fixture, encap);
    init.recv_cq = init.send_cq = fixture.cq;
    fixture.attr.qkey = QKEY;
    for (unsigned i = 0; i < QPS; i++) {
        init.qpn = 0x100 + i;
        EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &ud[i]), RNIC_OK);
        fixture_connect(&fixture, ud[i]);
    }
}

static void post(unsigned qp, uint64_t wr_id)
{
    const struct rnic_sge sge = {FIXTURE_IOVA + 4096 * wr_id, 140, FIXTURE_KEY};
    const struct rnic_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .sge_cnt = 1};

    EXPECT_EQ(rnic_post_recv(ud[qp], &wr), RNIC_OK);
}

static struct roce_pkt datagram(const uint8_t group[16], uint32_t len)
{
    static const uint8_t payload[200] = {7, 8, 9};
    struct roce_pkt pkt = pktgen_data(&fixture.gen, ROCE_OP_UD_SEND_ONLY, 1, payload, len);

    pkt.bth.dest_qp = ROCE_QP_MULTICAST;
    pkt.deth = (struct roce_deth){.qkey = QKEY, .src_qp = 0x55};
    rnic_gid_multicast_mac(group, pkt.eth.dst);
    memcpy(pkt.ip4.dst, group + 12, 4);
    memcpy(pkt.ip6.dst, group, 16);
    memcpy(pkt.grh.dgid, group, 16);
    return pkt;
}

/* Polls all completions, which must be successful, and returns their number. Sets a bit in *qps for
 * each QP that received. */
static unsigned arrived(unsigned *qps)
{
    struct rnic_wc wc;
    unsigned cnt = 0;

    *qps = 0;
    for (; rnic_cq_poll(fixture.cq, &wc, 1); cnt++) {
        EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
        *qps |= 1u << (wc.qpn - 0x100);
    }
    return cnt;
}

/* Each attached QP receives the datagram in a WQE of its own queue (R175). */
static void r175_each_attached_qp_receives(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};

    for (unsigned i = 0; i < 3; i++) {
        const uint8_t *group = i == 0 ? group4 : group6;
        struct roce_pkt pkt;
        unsigned qps;

        begin(encaps[i]);
        pkt = datagram(group, 100);
        fixture_in(&fixture, &pkt); /* datagram without an attached QP */
        EXPECT_EQ(fixture_counters(&fixture).rx_no_group, 1);
        for (unsigned q = 0; q < 3; q++) {
            EXPECT_EQ(rnic_mcast_attach(ud[q], group), RNIC_OK);
            post(q, q + 1);
        }
        post(3, 4);
        fixture_in(&fixture, &pkt);
        EXPECT_EQ(fixture_counters(&fixture).rx_multicast, 1);
        EXPECT_EQ(arrived(&qps), 3);
        EXPECT_EQ(qps, 7);
        for (unsigned q = 1; q <= 3; q++)
            CU_ASSERT(memcmp(fixture.mem + 4096 * q + 40, pkt.payload, 100) == 0);
        /* only the QP that has a WQE left receives */
        post(1, 9);
        fixture_in(&fixture, &pkt);
        EXPECT_EQ(arrived(&qps), 1);
        EXPECT_EQ(qps, 2);
        EXPECT_EQ(fixture_counters(&fixture).out_of_buffer, 2);
        EXPECT_EQ(rnic_mcast_detach(ud[1], group), RNIC_OK);
        post(1, 10);
        fixture_in(&fixture, &pkt);
        EXPECT_EQ(arrived(&qps), 0);
        fixture_expect_nothing(&fixture); /* a datagram gets no response (R178) */
        fixture_free(&fixture);
    }
}

/* Each QP checks Q_Key, P_Key, state and buffer independently (R175). */
static void r175_each_for_itself(void)
{
    struct rnic_qp_attr attr;
    struct roce_pkt pkt;
    unsigned qps;

    begin(ROCE_ENCAP_V2_IP4);
    for (unsigned q = 0; q < QPS; q++) {
        EXPECT_EQ(rnic_mcast_attach(ud[q], group4), RNIC_OK);
        attr = fixture.attr;
        attr.state = RNIC_QPS_RESET;
        EXPECT_EQ(rnic_qp_modify(ud[q], &attr, 0), RNIC_OK);
        attr.state = RNIC_QPS_INIT;
        if (q == 0)
            attr.qkey++;
        if (q == 1)
            attr.pkey = 0x8123;
        EXPECT_EQ(rnic_qp_modify(ud[q], &attr, 0), RNIC_OK);
        post(q, q + 1);
        if (q == 2)
            continue; /* this QP stays in INIT */
        attr.state = RNIC_QPS_RTR;
        EXPECT_EQ(rnic_qp_modify(ud[q], &attr, 0), RNIC_OK);
    }
    pkt = datagram(group4, 10);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(arrived(&qps), 1);
    EXPECT_EQ(qps, 8);
    EXPECT_EQ(fixture_counters(&fixture).qkey_viol_cntr, 1);
    EXPECT_EQ(fixture_counters(&fixture).rx_bad_pkey, 1);
    fixture_free(&fixture);
}

/* A packet with a group address and a unicast QPN is dropped. A packet with the multicast QPN is
 * dropped if it is not addressed to the group, or if its service is not UD (R048, R052). */
static void r048_group_without_multicast_qpn_is_dropped(void)
{
    struct roce_pkt pkt;
    unsigned qps;

    begin(ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_mcast_attach(ud[0], group4), RNIC_OK);
    post(0, 1);
    pkt = datagram(group4, 10);
    pkt.bth.dest_qp = 0x100;
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rx_no_qp, 1);
    pkt = datagram(group4, 10);
    memcpy(pkt.ip4.dst, fixture.gen.dgid + 12, 4);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rx_no_group, 1);
    pkt = datagram(group4, 10);
    pkt.bth.opcode = ROCE_OP_UC_SEND_ONLY;
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rx_no_qp, 2);
    pkt = datagram(other4, 10);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rx_no_group, 2);
    EXPECT_EQ(arrived(&qps), 0);
    fixture_free(&fixture);
}

/* A datagram to the device's own group is delivered without the network, also to the sender. */
static void datagram_to_own_group_is_delivered_locally(void)
{
    struct rnic_av av;
    struct rnic_ah *ah;
    struct rnic_sge sge = {FIXTURE_IOVA, 100, FIXTURE_KEY};
    struct rnic_send_wr wr = {.wr_id = 77,
                              .opcode = RNIC_WR_SEND_IMM,
                              .sge = &sge,
                              .sge_cnt = 1,
                              .imm = 5,
                              .remote_qkey = 0x80000000};
    struct roce_pkt pkt;
    unsigned qps;

    begin(ROCE_ENCAP_V2_IP4);
    av = fixture.attr.av;
    memcpy(av.dgid, group4, 16);
    EXPECT_EQ(rnic_ah_new(fixture.pd, &av, &ah), RNIC_OK);
    wr.ah = ah;
    for (unsigned q = 0; q < 2; q++) {
        EXPECT_EQ(rnic_mcast_attach(ud[q], group4), RNIC_OK);
        post(q, q + 1);
    }
    EXPECT_EQ(rnic_post_send(ud[0], &wr), RNIC_OK);
    EXPECT_EQ(arrived(&qps), 0); /* no delivery before the datagram is sent */
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    EXPECT_EQ(arrived(&qps), 2);
    EXPECT_EQ(qps, 3);
    for (unsigned q = 1; q <= 2; q++) {
        CU_ASSERT(memcmp(fixture.mem + 4096 * q + 40, fixture.mem, 100) == 0);
        CU_ASSERT(memcmp(fixture.mem + 4096 * q + 20, pkt.frame + pkt.net_off, 20) == 0);
    }
    EXPECT_EQ(fixture_counters(&fixture).rx_packets, 0); /* the network delivered no frame (R249) */
    EXPECT_EQ(fixture_counters(&fixture).tx_packets, 1);
    fixture_free(&fixture);
}

static void attach_and_detach(void)
{
    static const uint8_t not_a_group[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 9};
    struct roce_pkt pkt;
    unsigned qps;

    begin(ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_mcast_attach(fixture.qp, group4), RNIC_ERR_INVALID); /* an RC QP cannot be
                                                                         * attached */
    EXPECT_EQ(rnic_mcast_attach(ud[0], not_a_group), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_mcast_detach(ud[0], group4), RNIC_ERR_INVALID);
    /* A QP that is attached twice receives one copy (ibv_attach_mcast(3)). */
    EXPECT_EQ(rnic_mcast_attach(ud[0], group4), RNIC_OK);
    EXPECT_EQ(rnic_mcast_attach(ud[0], group4), RNIC_OK);
    EXPECT_EQ(rnic_mcast_attach(ud[0], group6), RNIC_OK);
    post(0, 1);
    post(0, 2);
    pkt = datagram(group4, 10);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(arrived(&qps), 1);
    EXPECT_EQ(rnic_qp_del(ud[0]), RNIC_ERR_BUSY); /* the QP is in a group (R177) */
    EXPECT_EQ(rnic_mcast_detach(ud[1], group4), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_mcast_detach(ud[0], group4), RNIC_OK);
    EXPECT_EQ(rnic_mcast_detach(ud[0], group4), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_qp_del(ud[0]), RNIC_ERR_BUSY);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rx_no_group, 1);
    EXPECT_EQ(rnic_mcast_detach(ud[0], group6), RNIC_OK);
    EXPECT_EQ(rnic_qp_del(ud[0]), RNIC_OK);
    EXPECT_EQ(rnic_mcast_attach(ud[1], group4), RNIC_OK); /* attachment that fixture_free() ends */
    fixture_free(&fixture);
}

/* The limits of groups and of QPs in a group can be reached. A QP can be detached from each of many
 * groups, also with colliding hashes. */
static void limits(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_UD, .max_recv_sge = 1};
    struct rnic_qp *qp;
    uint8_t gid[16];

    begin(ROCE_ENCAP_V2_IP6);
    memcpy(gid, group6, 16);
    for (unsigned i = 0; i < RNIC_MCAST_GROUPS; i++) {
        gid[1] = (uint8_t)i;
        gid[2] = (uint8_t)(i >> 8);
        EXPECT_EQ(rnic_mcast_attach(ud[0], gid), RNIC_OK);
    }
    gid[3] = 1;
    EXPECT_EQ(rnic_mcast_attach(ud[0], gid), RNIC_ERR_NOMEM);
    gid[3] = 0;
    for (unsigned i = 0; i < RNIC_MCAST_GROUPS; i += 2) {
        gid[1] = (uint8_t)i;
        gid[2] = (uint8_t)(i >> 8);
        EXPECT_EQ(rnic_mcast_detach(ud[0], gid), RNIC_OK);
    }
    for (unsigned i = 0; i < RNIC_MCAST_GROUPS; i++) {
        gid[1] = (uint8_t)i;
        gid[2] = (uint8_t)(i >> 8);
        EXPECT_EQ(rnic_mcast_detach(ud[0], gid), i % 2 ? RNIC_OK : RNIC_ERR_INVALID);
    }
    EXPECT_EQ(rnic_qp_del(ud[0]), RNIC_OK);
    init.recv_cq = fixture.cq;
    for (unsigned i = 0; i <= RNIC_MCAST_QPS; i++) {
        EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
        EXPECT_EQ(rnic_mcast_attach(qp, group6), i < RNIC_MCAST_QPS ? RNIC_OK : RNIC_ERR_NOMEM);
    }
    fixture_free(&fixture);
}

/* The GIDs of two groups have the same hash. After the removal of one group, the device must still
 * find the remaining group. */
static void colliding_groups_are_found(void)
{
    static const uint8_t gid[2][16] = {
        {0xFF, 0x0E, [10] = 0x0F, 0xDB, 0x30, 0xC6, 0xA9, 0x32},
        {0xFF, 0x0E, [10] = 0x3A, 0xC3, 0x63, 0xD5, 0x90, 0x18},
    };

    for (unsigned first = 0; first < 2; first++) {
        for (unsigned gone = 0; gone < 2; gone++) {
            struct roce_pkt pkt;
            unsigned qps;

            begin(ROCE_ENCAP_V2_IP6);
            EXPECT_EQ(rnic_mcast_attach(ud[first], gid[first]), RNIC_OK);
            pkt = datagram(gid[!first], 10);
            fixture_in(&fixture, &pkt);
            EXPECT_EQ(fixture_counters(&fixture).rx_no_group, 1);
            EXPECT_EQ(rnic_mcast_attach(ud[!first], gid[!first]), RNIC_OK);
            for (unsigned i = 0; i < 2; i++) {
                post(0, 1);
                post(1, 2);
                pkt = datagram(gid[i], 10);
                fixture_in(&fixture, &pkt);
                EXPECT_EQ(arrived(&qps), 1);
                EXPECT_EQ(qps, 1u << i);
            }
            EXPECT_EQ(rnic_mcast_detach(ud[gone], gid[gone]), RNIC_OK);
            for (unsigned i = 0; i < 2; i++) {
                pkt = datagram(gid[i], 10);
                fixture_in(&fixture, &pkt);
                EXPECT_EQ(arrived(&qps), i != gone);
            }
            EXPECT_EQ(rnic_mcast_detach(ud[!gone], gid[!gone]), RNIC_OK);
            fixture_free(&fixture);
        }
    }
}

SUITE("device.mcast", TEST(r175_each_attached_qp_receives), TEST(r175_each_for_itself),
      TEST(r048_group_without_multicast_qpn_is_dropped),
      TEST(datagram_to_own_group_is_delivered_locally), TEST(attach_and_detach), TEST(limits),
      TEST(colliding_groups_are_found))
