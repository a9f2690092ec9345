/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* CNPs of a device: events that cause a CNP, the fields of a CNP, and the reaction to a received
 * CNP (R005, R214-R220 of rnic/rules.md). */
#include <string.h>
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

#define US UINT64_C(1000)

static struct device_fixture fixture;
static struct rnic_qp *sender; /* QP with a send queue; has the addresses of the fixture's
                                * connection */

static void begin(enum roce_encap encap)
{
    struct rnic_ecn ecn;

    rnic_ecn_defaults(&ecn);
    fixture_init_ecn(&fixture, encap, &ecn);
}

static struct roce_pkt marked(uint32_t psn)
{
    struct roce_pkt pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, psn, FIXTURE_IOVA,
                                       FIXTURE_KEY, 0, NULL, 0);

    if (fixture.gen.encap == ROCE_ENCAP_V2_IP6)
        pkt.ip6.ecn = 3;
    else
        pkt.ip4.ecn = 3;
    return pkt;
}

static struct roce_pkt cnp_to(uint32_t qpn)
{
    struct roce_pkt pkt = pktgen_pkt(&fixture.gen, ROCE_OP_CNP_ROCE, 0);

    pkt.bth.becn = 1;
    pkt.bth.migreq = 0;
    pkt.bth.dest_qp = qpn;
    return pkt;
}

static void expect_cnp(uint16_t pkey)
{
    static const struct roce_cnp zero;
    struct roce_pkt pkt;

    if (!fixture_out(&fixture, &pkt)) {
        suite_fail(__FILE__, __LINE__, "no CNP");
        return;
    }
    EXPECT_EQ(pkt.bth.opcode, 0x81);
    EXPECT_EQ(pkt.bth.becn, 1);
    EXPECT_EQ(pkt.bth.fecn, 0);
    EXPECT_EQ(pkt.bth.psn, 0);
    EXPECT_EQ(pkt.bth.se, 0);
    EXPECT_EQ(pkt.bth.migreq, 0);
    EXPECT_EQ(pkt.bth.padcnt, 0);
    EXPECT_EQ(pkt.bth.ackreq, 0);
    EXPECT_EQ(pkt.bth.pkey, pkey);
    EXPECT_EQ(pkt.bth.dest_qp, FIXTURE_PEER_QPN);
    EXPECT_EQ(pkt.payload_len, 0);
    CU_ASSERT(memcmp(&pkt.cnp, &zero, sizeof(zero)) == 0);
    EXPECT_EQ(pkt.udp.dport, 4791); /* every packet has this destination port (R011) */
    EXPECT_EQ(pkt.udp.sport, fixture.attr.av.udp_sport);
    if (pkt.encap == ROCE_ENCAP_V2_IP6) {
        EXPECT_EQ(pkt.ip6.dscp, 48);
        EXPECT_EQ(pkt.ip6.ecn, 2);
    } else {
        EXPECT_EQ(pkt.ip4.dscp, 48);
        EXPECT_EQ(pkt.ip4.ecn, 2);
    }
}

/* A CNP has the right layout, the P_Key of the marked packet, and the configured DSCP (R214, R215).
 * It is sent before all other packets. */
static void r214_cnp_has_the_required_fields(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};

    for (unsigned e = 0; e < 2; e++) {
        struct roce_pkt pkt;

        begin(encaps[e]);
        pkt = marked(FIXTURE_PSN);
        pkt.bth.ackreq = 1;
        pkt.bth.pkey = 0x7FFF; /* P_Key of a limited member */
        fixture_in(&fixture, &pkt);
        expect_cnp(0x7FFF);
        fixture_expect_aeth(&fixture, FIXTURE_PSN, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE, 1);
        fixture_expect_nothing(&fixture);
        EXPECT_EQ(fixture_counters(&fixture).np_cnp_sent, 1);
        EXPECT_EQ(fixture_counters(&fixture).np_ecn_marked_roce_packets, 1);
        fixture_free(&fixture);
    }
}

/* With congestion management, packets are sent as ECN-capable (R005). */
static void r005_sent_as_ect(void)
{
    struct roce_pkt pkt;

    begin(ROCE_ENCAP_V2_IP4);
    pkt = marked(FIXTURE_PSN);
    pkt.ip4.ecn = 2;
    pkt.bth.ackreq = 1;
    fixture_in(&fixture, &pkt);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.ip4.ecn, 2);
    EXPECT_EQ(pkt.ip4.dscp, 0x68 >> 2);
    fixture_expect_nothing(&fixture); /* packet without a CE mark: no CNP */
    fixture_free(&fixture);
}

/* At most one CNP is sent per min_time_between_cnps, exact to the nanosecond (R219). */
static void r219_cnps_keep_the_minimum_interval(void)
{
    rnic_time first;

    begin(ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 3; i++) {
        struct roce_pkt pkt = marked(FIXTURE_PSN + i);

        fixture_in(&fixture, &pkt);
        if (i == 0)
            expect_cnp(0xFFFF);
        else
            fixture_expect_nothing(&fixture);
    }
    EXPECT_EQ(fixture_counters(&fixture).np_ecn_marked_roce_packets, 3);
    fixture.now += 10 * US;
    for (unsigned i = 0; i < 2; i++) {
        struct roce_pkt pkt = marked(FIXTURE_PSN + 3 + 2 * i);
        struct pktgen_frame frame;
        uint8_t buf[ROCE_FRAME_MAX];

        pktgen_build(&pkt, &frame);
        first = fixture.now;
        rnic_input(fixture.rnic, frame.bytes, frame.len, first);
        CU_ASSERT(rnic_output(fixture.rnic, buf, sizeof(buf), first) > 0);
        pkt = marked(FIXTURE_PSN + 4 + 2 * i);
        pktgen_build(&pkt, &frame);
        rnic_input(fixture.rnic, frame.bytes, frame.len, first + 4 * US - 1);
        EXPECT_EQ(rnic_output(fixture.rnic, buf, sizeof(buf), first + 4 * US - 1), 0);
        fixture.now = first + 4 * US; /* the next interval begins at this time */
    }
    fixture_free(&fixture);
}

/* Invalid packets (R217), acknowledgements and CNPs (R220) cause no CNP. */
static void r217_r220_invalid_packets_and_acks_cause_no_cnp(void)
{
    struct roce_pkt pkt;
    struct pktgen_frame frame;

    begin(ROCE_ENCAP_V2_IP4);
    pkt = marked(FIXTURE_PSN);
    pktgen_build(&pkt, &frame);
    frame.bytes[frame.len - 1] ^= 1;
    rnic_input(fixture.rnic, frame.bytes, frame.len, fixture.now);
    pkt.bth.pkey = 0x1234;
    fixture_in(&fixture, &pkt);
    pkt = marked(FIXTURE_PSN);
    pkt.bth.dest_qp = 0x77;
    fixture_in(&fixture, &pkt);
    pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_ACK, 0);
    pkt.ip4.ecn = 3;
    pkt.aeth.syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE;
    fixture_in(&fixture, &pkt);
    pkt = cnp_to(FIXTURE_QPN);
    pkt.ip4.ecn = 3;
    fixture_in(&fixture, &pkt);
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(fixture_counters(&fixture).np_cnp_sent, 0);
    EXPECT_EQ(fixture_counters(&fixture).np_ecn_marked_roce_packets, 0);
    EXPECT_EQ(fixture_counters(&fixture).rp_cnp_handled, 1);
    fixture_free(&fixture);
}

/* The device receives CNPs for an unknown QP, from another address, with reserved bytes set,
 * duplicated, and in several QP states. None of them changes a PSN or a timer (R216). */
static void r216_cnp_changes_no_psn_or_timer(void)
{
    struct roce_pkt pkt;
    struct rnic_qp_view before, after;
    struct rnic_qp_attr attr = {.state = RNIC_QPS_SQD};

    begin(ROCE_ENCAP_V2_IP4);
    rnic_qp_view(fixture.qp, &before);
    pkt = cnp_to(0x77);
    fixture_in(&fixture, &pkt);
    pkt = cnp_to(FIXTURE_QPN);
    pkt.ip4.src[3] ^= 4;
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rx_no_qp, 2);
    EXPECT_EQ(fixture_counters(&fixture).rp_cnp_handled, 0);
    for (unsigned i = 0; i < 3; i++) {
        pkt = cnp_to(FIXTURE_QPN);
        pkt.bth.psn = 5 * i;
        memset(&pkt.cnp, (int)i, sizeof(pkt.cnp));
        pkt.bth.becn = i != 1;
        fixture_in(&fixture, &pkt);
        EXPECT_EQ(fixture_counters(&fixture).rp_cnp_handled, 1 + i);
    }
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &attr, fixture.now), RNIC_OK);
    pkt = cnp_to(FIXTURE_QPN);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rp_cnp_handled, 4);
    attr.state = RNIC_QPS_ERR;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &attr, fixture.now), RNIC_OK);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rp_cnp_handled, 4);
    EXPECT_EQ(fixture_counters(&fixture).rx_no_qp, 3);
    rnic_qp_view(fixture.qp, &after);
    EXPECT_EQ(after.epsn, before.epsn);
    EXPECT_EQ(after.msn, before.msn);
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    fixture_expect_nothing(&fixture);
    fixture_free(&fixture);
}

/* Without congestion management, marks are counted, CNPs are ignored, and the traffic class is sent
 * as the user set it. */
static void marks_cause_no_cnp_by_default(void)
{
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    pkt = marked(FIXTURE_PSN);
    pkt.bth.ackreq = 1;
    fixture_in(&fixture, &pkt);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ACK);
    EXPECT_EQ(pkt.ip4.ecn, 0);
    fixture_expect_nothing(&fixture);
    pkt = cnp_to(FIXTURE_QPN);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).np_ecn_marked_roce_packets, 1);
    EXPECT_EQ(fixture_counters(&fixture).np_cnp_sent, 0);
    EXPECT_EQ(fixture_counters(&fixture).rp_cnp_ignored, 1);
    fixture_free(&fixture);
}

static void bad_parameters_are_refused(void)
{
    struct pktgen gen;
    struct rnic_attr attr;

    pktgen_init(&gen, ROCE_ENCAP_V2_IP4);
    attr = fixture_device_attr(&gen);
    rnic_ecn_defaults(&attr.ecn);
    attr.ecn.cnp_dscp = 64;
    CU_ASSERT(rnic_new(&attr) == NULL);
    attr.ecn.cnp_dscp = 63;
    attr.ecn.dcqcn.rpg_threshold = 0;
    CU_ASSERT(rnic_new(&attr) == NULL);
}

/* After a CNP the QP sends at a lower rate, and rnic_deadline() returns the time of the next packet
 * (R218). A pending ACK is not delayed. No ACK timer expires while a request is delayed. */
static void r218_qp_sends_slower_after_a_cnp(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .qpn = 0x33,
                                .max_recv_wr = 4,
                                .max_recv_sge = 1,
                                .max_send_wr = 16,
                                .max_send_sge = 1};
    struct rnic_ecn ecn;
    struct rnic_sge sge = {FIXTURE_IOVA, 1024, FIXTURE_KEY};
    struct rnic_send_wr wr = {.opcode = RNIC_WR_WRITE, .sge = &sge, .sge_cnt = 1};
    struct roce_pkt pkt;
    rnic_time last = 0;
    unsigned sent = 0;

    rnic_ecn_defaults(&ecn);
    ecn.dcqcn.rpg_max_rate = 1000;
    ecn.dcqcn.rpg_min_dec_fac = 0;
    ecn.dcqcn.rate_to_set_on_first_cnp = 1; /* 1 Mb/s: a frame of 1 KiB takes 8.7 ms */
    ecn.dcqcn.rpg_ai_rate = 0;
    ecn.dcqcn.rpg_hai_rate = 0;
    ecn.dcqcn.max_burst_sz = 0;
    fixture_init_ecn(&fixture, ROCE_ENCAP_V2_IP4, &ecn);
    fixture.attr.timeout = 1; /* timeout of 8 us: far below the time between two packets */
    fixture.attr.retry_cnt = 1;
    init.recv_cq = init.send_cq = fixture.cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &sender), RNIC_OK);
    fixture_connect(&fixture, sender);
    pkt = cnp_to(0x33);
    fixture_in(&fixture, &pkt);
    sge.len = 4096; /* message of four packets; the last one requests an ACK */
    EXPECT_EQ(rnic_post_send(sender, &wr), RNIC_OK);
    for (unsigned i = 0; i < 20000 && sent < 4; i++) {
        uint8_t buf[ROCE_FRAME_MAX];
        size_t len;

        while ((len = rnic_output(fixture.rnic, buf, sizeof(buf), fixture.now)) > 0) {
            if (sent)
                CU_ASSERT(fixture.now - last >= (uint64_t)1024 * 8000);
            last = fixture.now;
            sent++;
        }
        CU_ASSERT(rnic_deadline(fixture.rnic) > fixture.now);
        if (sent == 2 && i % 100 == 0) { /* the QP's responder answers at once */
            pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, fixture.attr.rq_psn,
                               FIXTURE_IOVA, FIXTURE_KEY, 0, NULL, 0);
            pkt.bth.dest_qp = 0x33;
            pkt.bth.ackreq = 1;
            fixture_in(&fixture, &pkt);
            CU_ASSERT(fixture_out(&fixture, &pkt));
            EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ACK);
        }
        if (sent == 4)
            break;
        fixture.now = rnic_deadline(fixture.rnic);
        rnic_expire(fixture.rnic, fixture.now);
    }
    EXPECT_EQ(sent, 4);
    EXPECT_EQ(fixture_counters(&fixture).local_ack_timeout_err, 0);
    EXPECT_EQ(fixture_counters(&fixture).tx_retransmitted, 0);
    /* the peer does not acknowledge the message, so the ACK timer expires */
    fixture.now += 20 * US;
    rnic_expire(fixture.rnic, fixture.now);
    EXPECT_EQ(fixture_counters(&fixture).local_ack_timeout_err, 1);
    rnic_qp_del(sender); /* deletes the QP while it is delayed */
    fixture_free(&fixture);
}

SUITE("cnp", TEST(r214_cnp_has_the_required_fields), TEST(r005_sent_as_ect),
      TEST(r219_cnps_keep_the_minimum_interval),
      TEST(r217_r220_invalid_packets_and_acks_cause_no_cnp), TEST(r216_cnp_changes_no_psn_or_timer),
      TEST(marks_cause_no_cnp_by_default), TEST(bad_parameters_are_refused),
      TEST(r218_qp_sends_slower_after_a_cnp))
