/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Address handles (R004, R005, R010-R013, R048, R176, R206 of rnic/rules.md), and the 802.1Q tag of
 * an address vector for any service. */
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/gid.h"

#define UD_QPN 0x33u

static struct device_fixture fixture;
static struct rnic_qp *ud;

static void begin(enum roce_encap encap)
{
    struct rnic_qp_init init = {
        .type = RNIC_QPT_UD, .qpn = UD_QPN, .max_recv_sge = 1, .max_send_wr = 4, .max_send_sge = 1};

    fixture_init(&fixture, encap);
    init.recv_cq = init.send_cq = fixture.cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &ud), RNIC_OK);
    fixture.attr.qkey = 0x1234;
    fixture_connect(&fixture, ud);
}

static struct rnic_ah *handle(const struct rnic_av *av)
{
    struct rnic_ah *ah = NULL;

    EXPECT_EQ(rnic_ah_new(fixture.pd, av, &ah), RNIC_OK);
    return ah;
}

static int send_to(const struct rnic_ah *ah, uint32_t qpn)
{
    const struct rnic_sge sge = {FIXTURE_IOVA, 64, FIXTURE_KEY};
    const struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .ah = ah,
                                    .remote_qpn = qpn,
                                    .remote_qkey = 5};

    return rnic_post_send(ud, &wr);
}

/* Each field of the address vector is sent in the right header field, in each encapsulation, with
 * and without a VLAN tag. */
static void every_field_of_the_vector_is_in_the_frame(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V1, ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};

    for (unsigned i = 0; i < 6; i++) {
        struct rnic_av av;
        struct rnic_av asked;
        struct rnic_ah *ah;
        struct roce_pkt pkt;
        uint8_t src[16];
        uint8_t dst[16];

        begin(encaps[i / 2]);
        av = fixture.attr.av;
        av.tclass = 0xB7; /* traffic class with ECN 11 (CE) */
        av.hop_limit = 0;
        av.flow = 0x2BCDE;
        av.udp_sport = 0;
        av.tagged = i % 2;
        av.priority = 5;
        av.vlan = 0xABC;
        ah = handle(&av);
        EXPECT_EQ(rnic_ah_query(ah, &asked), RNIC_OK);
        EXPECT_EQ(asked.hop_limit, 64);
        EXPECT_EQ(asked.vlan, 0xABC);
        CU_ASSERT(memcmp(asked.dgid, av.dgid, 16) == 0);
        EXPECT_EQ(send_to(ah, 0x77), RNIC_OK);
        CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
        EXPECT_EQ(pkt.encap, encaps[i / 2]);
        EXPECT_EQ(pkt.vlan_cnt, i % 2);
        if (i % 2) {
            EXPECT_EQ(pkt.vlan[0].vid, 0xABC);
            EXPECT_EQ(pkt.vlan[0].pcp, 5);
            EXPECT_EQ(pkt.vlan[0].dei, 0);
        }
        roce_pkt_addr(&pkt, src, dst);
        CU_ASSERT(memcmp(src, fixture.gen.dgid, 16) == 0);
        CU_ASSERT(memcmp(dst, fixture.gen.sgid, 16) == 0);
        CU_ASSERT(memcmp(pkt.eth.src, fixture.gen.dmac, 6) == 0);
        CU_ASSERT(memcmp(pkt.eth.dst, fixture.gen.smac, 6) == 0);
        EXPECT_EQ(pkt.bth.dest_qp, 0x77);
        switch (encaps[i / 2]) {
        case ROCE_ENCAP_V2_IP4:
            EXPECT_EQ(pkt.ip4.dscp, 0xB7 >> 2);
            EXPECT_EQ(pkt.ip4.ecn, 2); /* CE is sent as ECT(0) (R005) */
            EXPECT_EQ(pkt.ip4.ttl, 64);
            break;
        case ROCE_ENCAP_V2_IP6:
            EXPECT_EQ(pkt.ip6.dscp, 0xB7 >> 2);
            EXPECT_EQ(pkt.ip6.ecn, 2);
            EXPECT_EQ(pkt.ip6.flow, 0x2BCDE);
            EXPECT_EQ(pkt.ip6.hop, 64);
            break;
        default:
            EXPECT_EQ(pkt.grh.tclass, 0xB6);
            EXPECT_EQ(pkt.grh.flow, 0x2BCDE);
            EXPECT_EQ(pkt.grh.hop, 64);
            break;
        }
        if (encaps[i / 2] != ROCE_ENCAP_V1) /* the source port depends on the flow label (R013) */
            EXPECT_EQ(pkt.udp.sport, 0xC000 | ((0x2BCDE & 0x3FFF) ^ (0x2BCDE >> 14)));
        EXPECT_EQ(rnic_ah_del(ah), RNIC_OK);
        fixture_free(&fixture);
    }
}

/* Without a flow label, the source port is computed from both QPNs and is equal for all datagrams
 * to one QP. A port given by the user is used (R012, R013). */
static void r013_source_port_is_constant_for_a_qp(void)
{
    struct rnic_av av;
    struct rnic_ah *ah;
    struct roce_pkt pkt;
    uint16_t port[3] = {0};

    begin(ROCE_ENCAP_V2_IP4);
    av = fixture.attr.av;
    av.udp_sport = 0;
    ah = handle(&av);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(send_to(ah, i == 1 ? 0x123456 : 0x777), RNIC_OK);
        CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
        port[i] = pkt.udp.sport;
        CU_ASSERT(port[i] >= 0xC000);
    }
    EXPECT_EQ(port[0], port[2]);
    CU_ASSERT(port[0] != port[1]);
    av.udp_sport = 0xD00D;
    EXPECT_EQ(send_to(handle(&av), 0x777), RNIC_OK);
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.udp.sport, 0xD00D);
    fixture_free(&fixture);
}

static void invalid_vectors_are_refused(void)
{
    struct rnic_av bad;
    struct rnic_ah *ah = NULL;

    begin(ROCE_ENCAP_V2_IP4);
    bad = fixture.attr.av;
    bad.sgid_idx = 1;
    EXPECT_EQ(rnic_ah_new(fixture.pd, &bad, &ah), RNIC_ERR_INVALID);
    bad = fixture.attr.av;
    bad.flow = 0x100000;
    EXPECT_EQ(rnic_ah_new(fixture.pd, &bad, &ah), RNIC_ERR_INVALID);
    bad = fixture.attr.av;
    bad.dgid[0] = 0x20; /* IPv6 destination with an IPv4 source GID */
    EXPECT_EQ(rnic_ah_new(fixture.pd, &bad, &ah), RNIC_ERR_INVALID);
    bad = fixture.attr.av;
    bad.tagged = true;
    bad.vlan = 4096;
    EXPECT_EQ(rnic_ah_new(fixture.pd, &bad, &ah), RNIC_ERR_INVALID);
    bad.vlan = 4095;
    bad.priority = 8;
    EXPECT_EQ(rnic_ah_new(fixture.pd, &bad, &ah), RNIC_ERR_INVALID);
    CU_ASSERT(ah == NULL);
    EXPECT_EQ(rnic_ah_del(NULL), RNIC_OK);
    fixture_free(&fixture);
}

/* Deleting a handle does not change a queued request. A handle of another PD is refused. A PD with
 * a handle cannot be deleted (R205). */
static void queued_request_outlives_its_handle(void)
{
    struct rnic_pd *other;
    struct rnic_ah *ah;
    struct roce_pkt pkt;

    begin(ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_pd_new(fixture.rnic, &other), RNIC_OK);
    EXPECT_EQ(rnic_ah_new(other, &fixture.attr.av, &ah), RNIC_OK);
    EXPECT_EQ(send_to(ah, 0x77), RNIC_ERR_INVALID);
    EXPECT_EQ(send_to(NULL, 0x77), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_pd_del(other), RNIC_ERR_BUSY);
    EXPECT_EQ(rnic_ah_del(ah), RNIC_OK);
    EXPECT_EQ(rnic_pd_del(other), RNIC_OK);
    ah = handle(&fixture.attr.av);
    EXPECT_EQ(send_to(ah, 0x77), RNIC_OK);
    EXPECT_EQ(rnic_ah_del(ah), RNIC_OK);
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    CU_ASSERT(memcmp(pkt.eth.dst, fixture.gen.smac, 6) == 0);
    handle(&fixture.attr.av); /* a handle that fixture_free() frees */
    fixture_free(&fixture);
}

/* A unicast handle is refused for the multicast QPN. A multicast handle replaces any QPN by the
 * multicast QPN (R048). */
static void r048_multicast_qpn_needs_a_multicast_handle(void)
{
    struct rnic_av av;
    struct roce_pkt pkt;

    begin(ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(send_to(handle(&fixture.attr.av), 0xFFFFFF), RNIC_ERR_INVALID);
    EXPECT_EQ(send_to(handle(&fixture.attr.av), 0x1000000), RNIC_ERR_INVALID);
    EXPECT_EQ(send_to(handle(&fixture.attr.av), 0xFFFFFE), RNIC_OK);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    av = fixture.attr.av;
    memcpy(av.dgid + 12, "\xEF\x81\x02\x03", 4);
    EXPECT_EQ(send_to(handle(&av), 0x77), RNIC_OK);
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.bth.dest_qp, 0xFFFFFF);
    CU_ASSERT(memcmp(pkt.eth.dst, "\x01\x00\x5E\x01\x02\x03", 6) == 0); /* R176 */
    /* A connection to a multicast group is refused. */
    fixture.attr.av = av;
    fixture.attr.state = RNIC_QPS_RESET;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &fixture.attr, 0), RNIC_OK);
    fixture.attr.state = RNIC_QPS_INIT;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &fixture.attr, 0), RNIC_OK);
    fixture.attr.state = RNIC_QPS_RTR;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &fixture.attr, 0), RNIC_ERR_INVALID);
    fixture_free(&fixture);
}

/* Multicast GIDs are mapped to MAC addresses (R176; RFC 1112 6.4, RFC 2464 7). */
static void r176_multicast_gids_map_to_macs(void)
{
    static const struct {
        uint8_t gid[16];
        bool multicast;
        uint8_t mac[6];
    } rows[] = {
        {{[10] = 0xFF, 0xFF, 224, 0, 0, 1}, true, {1, 0, 0x5E, 0, 0, 1}},
        {{[10] = 0xFF, 0xFF, 239, 255, 255, 255}, true, {1, 0, 0x5E, 0x7F, 0xFF, 0xFF}},
        {{[10] = 0xFF, 0xFF, 225, 128, 7, 9}, true, {1, 0, 0x5E, 0, 7, 9}},
        {{[10] = 0xFF, 0xFF, 223, 1, 2, 3}, false, {0}},
        {{[10] = 0xFF, 0xFF, 240, 1, 2, 3}, false, {0}},
        {{0xFF, 0x0E, [12] = 0x81, 2, 3, 4}, true, {0x33, 0x33, 0x81, 2, 3, 4}},
        {{0xFF, 0x02, [15] = 1}, true, {0x33, 0x33, 0, 0, 0, 1}},
        {{0xFE, 0x80, [15] = 1}, false, {0}},
        {{0x20, 0x01, 0x0D, 0xB8, [12] = 224}, false, {0}},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t mac[6];

        EXPECT_EQ(roce_gid_is_multicast(rows[i].gid), rows[i].multicast);
        rnic_gid_multicast_mac(rows[i].gid, mac);
        if (rows[i].multicast)
            CU_ASSERT(memcmp(mac, rows[i].mac, 6) == 0);
    }
}

/* Responses carry the VLAN tag of the connection's address vector. */
static void tag_on_connection(void)
{
    struct roce_pkt pkt;

    /* IPv6 and the tag form the longest headers before the BTH */
    fixture_init(&fixture, ROCE_ENCAP_V2_IP6);
    fixture.attr.av.tagged = true;
    fixture.attr.av.priority = 7;
    fixture.attr.av.vlan = 42;
    fixture.attr.state = RNIC_QPS_RESET;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &fixture.attr, 0), RNIC_OK);
    fixture_connect(&fixture, fixture.qp);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, FIXTURE_IOVA, FIXTURE_KEY, 3000);
    fixture_in(&fixture, &pkt);
    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
        EXPECT_EQ(pkt.vlan_cnt, 1);
        EXPECT_EQ(pkt.vlan[0].vid, 42);
        EXPECT_EQ(pkt.vlan[0].pcp, 7);
        EXPECT_EQ(pkt.payload_len, i < 2 ? 1024 : 3000 - 2048);
    }
    fixture_expect_nothing(&fixture);
    fixture_free(&fixture);
}

SUITE("device.ah", TEST(every_field_of_the_vector_is_in_the_frame),
      TEST(r013_source_port_is_constant_for_a_qp), TEST(invalid_vectors_are_refused),
      TEST(queued_request_outlives_its_handle), TEST(r048_multicast_qpn_needs_a_multicast_handle),
      TEST(r176_multicast_gids_map_to_macs), TEST(tag_on_connection))
