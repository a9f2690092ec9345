/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The device frame by frame: which packets it accepts (R002-R056 of rnic/rules.md), the fields of
 * its responses (R001-R015, R043-R045), and fairness between QPs (R251). */
#include <stdlib.h>
#include <string.h>
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

#define ACK (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)

static struct device_fixture fixture;
static const enum roce_encap encaps[] = {ROCE_ENCAP_V1, ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};

static struct roce_pkt write_only(uint32_t psn, uint32_t off, const void *data, uint32_t len)
{
    struct roce_pkt pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, psn, FIXTURE_IOVA + off,
                                       FIXTURE_KEY, len, data, len);

    pkt.bth.ackreq = 1;
    return pkt;
}

/* Passes a frame with bytes that the test altered. */
static void in_frame(const struct pktgen_frame *frame)
{
    rnic_input(fixture.rnic, frame->bytes, frame->len, ++fixture.now);
}

/* In every encapsulation, the device executes a SEND, a WRITE and a READ. */
static void end_to_end(void)
{
    static const uint8_t hello[] = "hello, responder";
    static uint8_t data[4096];

    for (unsigned e = 0; e < 3; e++) {
        struct roce_pkt pkt;
        struct rnic_wc wc;

        fixture_init(&fixture, encaps[e]);
        memset(data, 0x5A, sizeof(data));
        EXPECT_EQ(fixture_post(&fixture, 77, 1000, 100), RNIC_OK);
        pkt =
            pktgen_data(&fixture.gen, ROCE_OP_RC_SEND_ONLY_IMM, FIXTURE_PSN, hello, sizeof(hello));
        pkt.bth.ackreq = 1;
        pkt.bth.se = 1;
        pkt.immdt.imm = 0x01020304;
        fixture_in(&fixture, &pkt);
        fixture_expect_aeth(&fixture, FIXTURE_PSN, ACK, 1);
        EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 1);
        EXPECT_EQ(wc.wr_id, 77);
        EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
        EXPECT_EQ(wc.opcode, RNIC_WC_RECV);
        EXPECT_EQ(wc.flags, RNIC_WC_WITH_IMM);
        EXPECT_EQ(wc.imm, 0x01020304);
        EXPECT_EQ(wc.byte_len, sizeof(hello));
        EXPECT_EQ(wc.qpn, FIXTURE_QPN);
        CU_ASSERT(wc.solicited);
        CU_ASSERT(memcmp(fixture.mem + 1000, hello, sizeof(hello)) == 0);

        pkt = write_only(FIXTURE_PSN + 1, 5000, data, 1021);
        fixture_in(&fixture, &pkt);
        fixture_expect_aeth(&fixture, FIXTURE_PSN + 1, ACK, 2);
        CU_ASSERT(memcmp(fixture.mem + 5000, data, 1021) == 0);
        CU_ASSERT(fixture.mem[6021] == (uint8_t)(6021 * 13 + 6021 / 251));

        pkt = pktgen_read(&fixture.gen, FIXTURE_PSN + 2, FIXTURE_IOVA + 4000, FIXTURE_KEY, 2500);
        fixture_in(&fixture, &pkt);
        for (unsigned i = 0; i < 3; i++) {
            static const uint8_t opcodes[] = {
                ROCE_OP_RC_READ_RESP_FIRST, ROCE_OP_RC_READ_RESP_MIDDLE, ROCE_OP_RC_READ_RESP_LAST};
            uint32_t len = i == 2 ? 2500 - 2048 : 1024;

            CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
            EXPECT_EQ(pkt.bth.opcode, opcodes[i]);
            EXPECT_EQ(pkt.bth.psn, FIXTURE_PSN + 2 + i);
            EXPECT_EQ(pkt.payload_len, len);
            CU_ASSERT_FATAL(pkt.payload_len == len);
            CU_ASSERT(memcmp(pkt.payload, fixture.mem + 4000 + 1024 * i, len) == 0);
            if (i != 1)
                EXPECT_EQ(pkt.aeth.msn, 3);
        }
        fixture_expect_nothing(&fixture);
        fixture_free(&fixture);
    }
}

/* Every field of a response's Ethernet, IP and UDP headers comes from the address vector, and the
 * BTH from the QP (R001-R015, R041, R043-R045). */
static void response_envelope_comes_from_the_vector(void)
{
    for (unsigned e = 0; e < 3; e++) {
        struct roce_pkt pkt;

        fixture_init(&fixture, encaps[e]);
        pkt = write_only(FIXTURE_PSN, 0, NULL, 0);
        pkt.bth.se = 1;
        pkt.bth.fecn = 1;
        fixture_in(&fixture, &pkt);
        CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
        CU_ASSERT(memcmp(pkt.eth.dst, fixture.gen.smac, 6) == 0);
        CU_ASSERT(memcmp(pkt.eth.src, fixture.gen.dmac, 6) == 0);
        EXPECT_EQ(pkt.encap, encaps[e]);
        switch (encaps[e]) {
        case ROCE_ENCAP_V2_IP4:
            EXPECT_EQ(pkt.ip4.dscp, 0x68 >> 2); /* DSCP of the address vector (R004) */
            EXPECT_EQ(pkt.ip4.ecn, 0);
            EXPECT_EQ(pkt.ip4.ttl, 17); /* hop limit of the address vector (R008) */
            EXPECT_EQ(pkt.ip4.df, 1);   /* the packet must not be fragmented (R007) */
            CU_ASSERT(memcmp(pkt.ip4.src, fixture.gen.dgid + 12, 4) == 0);
            CU_ASSERT(memcmp(pkt.ip4.dst, fixture.gen.sgid + 12, 4) == 0);
            break;
        case ROCE_ENCAP_V2_IP6:
            EXPECT_EQ(pkt.ip6.dscp, 0x68 >> 2);
            EXPECT_EQ(pkt.ip6.hop, 17);
            CU_ASSERT(memcmp(pkt.ip6.src, fixture.gen.dgid, 16) == 0);
            CU_ASSERT(memcmp(pkt.ip6.dst, fixture.gen.sgid, 16) == 0);
            break;
        default:
            EXPECT_EQ(pkt.grh.tclass, 0x68);
            EXPECT_EQ(pkt.grh.hop, 17);
            CU_ASSERT(memcmp(pkt.grh.sgid, fixture.gen.dgid, 16) == 0);
            CU_ASSERT(memcmp(pkt.grh.dgid, fixture.gen.sgid, 16) == 0);
            break;
        }
        if (encaps[e] != ROCE_ENCAP_V1) {
            EXPECT_EQ(pkt.udp.sport, 0xD00D);        /* source port of the address vector (R012) */
            EXPECT_EQ(pkt.udp.dport, ROCE_UDP_PORT); /* not the source port of the request (R011) */
            EXPECT_EQ(pkt.udp.csum, 0);              /* a sender sets no checksum (R015) */
        }
        EXPECT_EQ(pkt.bth.dest_qp, FIXTURE_PEER_QPN);
        EXPECT_EQ(pkt.bth.se, 0);
        EXPECT_EQ(pkt.bth.ackreq, 0);
        EXPECT_EQ(pkt.bth.migreq, 1);
        EXPECT_EQ(pkt.bth.pkey, 0xFFFF);
        EXPECT_EQ(pkt.bth.fecn, 0);
        EXPECT_EQ(pkt.bth.becn, 0);
        EXPECT_EQ(pkt.bth.resv6, 0);
        EXPECT_EQ(pkt.bth.resv7, 0);
        fixture_free(&fixture);
    }
}

/* If the user sets no UDP source port, the QP computes one, which does not change. A traffic class
 * with CE is sent as ECT(0), and hop limit 0 as 64 (R003, R005, R012, R013). */
static void derived_envelope(void)
{
    struct rnic_qp_attr attr;
    struct roce_pkt pkt;
    uint16_t port = 0;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    fixture.attr.av.udp_sport = 0;
    fixture.attr.av.tclass = 0x03;
    fixture.attr.av.hop_limit = 0;
    attr = fixture.attr;
    attr.state = RNIC_QPS_RESET;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &attr, fixture.now), RNIC_OK);
    fixture_connect(&fixture, fixture.qp);
    for (uint32_t i = 0; i < 3; i++) {
        pkt = write_only(FIXTURE_PSN + i, 0, NULL, 0);
        fixture_in(&fixture, &pkt);
        CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
        CU_ASSERT(pkt.udp.sport >= 0xC000);
        if (i)
            EXPECT_EQ(pkt.udp.sport, port);
        port = pkt.udp.sport;
        EXPECT_EQ(pkt.ip4.ecn, 2);
        EXPECT_EQ(pkt.ip4.ttl, 64);
    }
    fixture_free(&fixture);
}

/* A frame with a single flipped bit is silently dropped, unless the path may change that bit (R016,
 * R023, R024). The QP is not affected (R056). */
static void r024_flip_every_bit(void)
{
    static const uint8_t data[5] = {9, 8, 7, 6, 5};
    struct pktgen_frame good;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    pkt = write_only(FIXTURE_PSN, 0, data, sizeof(data));
    pktgen_build(&pkt, &good);
    pktgen_parse(&good, &pkt);
    for (size_t bit = 0; bit < good.len * 8; bit++) {
        struct pktgen_frame bad = good;
        size_t byte = bit / 8;
        /* Bits that the path may change: group bit of the destination MAC, source MAC, UDP
         * checksum, BTH byte 4. A change of TOS or TTL needs a new header checksum and is tested in
         * r018_changes_on_the_path_are_accepted(). */
        bool may_change = bit == 7 || (byte >= 6 && byte < 12) ||
                          (byte >= pkt.off[ROCE_HDR_UDP] + 6u && byte < pkt.off[ROCE_HDR_BTH]) ||
                          byte == pkt.off[ROCE_HDR_BTH] + 4u;
        struct rnic_qp_view view;

        bad.bytes[byte] ^= (uint8_t)(0x80 >> bit % 8);
        in_frame(&bad);
        rnic_qp_view(fixture.qp, &view);
        EXPECT_EQ(view.state, RNIC_QPS_RTS);
        if (may_change) {
            struct rnic_qp_attr attr = fixture.attr;

            EXPECT_EQ(view.epsn, (FIXTURE_PSN + 1) & ROCE_PSN_MASK);
            fixture_expect_aeth(&fixture, FIXTURE_PSN, ACK, 1);
            attr.state = RNIC_QPS_RESET;
            EXPECT_EQ(rnic_qp_modify(fixture.qp, &attr, fixture.now), RNIC_OK);
            fixture_connect(&fixture, fixture.qp);
        } else {
            EXPECT_EQ(view.epsn, FIXTURE_PSN);
            fixture_expect_nothing(&fixture);
        }
    }
    CU_ASSERT(fixture_counters(&fixture).rx_icrc_encapsulated > 0);
    fixture_expect_no_event(&fixture);
    fixture_free(&fixture);
}

/* The device accepts a packet that the path changed: TOS and TTL with a valid header checksum, UDP
 * checksum, FECN, BECN (R018, R020, R021). */
static void r018_changes_on_the_path_are_accepted(void)
{
    struct pktgen_frame frame;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    pkt = write_only(FIXTURE_PSN, 0, NULL, 0);
    pkt.ip4.dscp = 46;
    pkt.ip4.ecn = 3;
    pkt.ip4.ttl = 1;
    pkt.bth.fecn = 1;
    pkt.bth.becn = 1;
    pkt.bth.resv6 = 0x3F;
    pkt.bth.migreq = 0; /* MigReq 0 is accepted (R044) */
    pkt.udp.sport = 1;  /* any source port and MAC address are accepted (R053) */
    pkt.udp.csum = 0x1234;
    memset(pkt.eth.src, 0x33, 6);
    pktgen_build(&pkt, &frame);
    memset(frame.bytes + ROCE_ETH_LEN + 10, 0, 2);
    in_frame(&frame); /* an IPv4 header checksum of 0 occurs in captures, but a receiver must
                       * drop the packet */
    fixture_expect_nothing(&fixture);
    pktgen_build(&pkt, &frame);
    in_frame(&frame);
    fixture_expect_aeth(&fixture, FIXTURE_PSN, ACK, 1);
    fixture_free(&fixture);
}

static void r014_trailing_bytes_are_ignored(void)
{
    struct pktgen_frame frame;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    pkt = write_only(FIXTURE_PSN, 0, NULL, 0);
    pktgen_build(&pkt, &frame);
    memset(frame.bytes + frame.len, 0, 7);
    frame.len += 7;
    in_frame(&frame);
    fixture_expect_aeth(&fixture, FIXTURE_PSN, ACK, 1);
    fixture_free(&fixture);
}

/* A packet with one invalid field is dropped and counted by the right counter. */
static void packet_with_an_invalid_field_is_dropped(void)
{
    enum what {
        QP0,
        QP1,
        QP_NONE,
        QP_MULTICAST,
        UC,
        UD,
        XRC,
        CNP,
        SRC_IP,
        DST_IP,
        DST_MAC,
        PKEY,
        PKEY0,
        TVER,
        ENCAP,
        RESPONSE,
        WHAT_CNT
    };

    for (unsigned what = 0; what < WHAT_CNT; what++) {
        struct rnic_counters counters;
        struct roce_pkt pkt;

        fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
        pkt = write_only(FIXTURE_PSN, 0, NULL, 0);
        switch (what) {
        case QP0: pkt.bth.dest_qp = 0; break; /* QP 0 does not exist in RoCEv2 (R046) */
        case QP1: pkt.bth.dest_qp = 1; break;
        case QP_NONE: pkt.bth.dest_qp = 0x12; break;            /* no QP has this number (R047) */
        case QP_MULTICAST: pkt.bth.dest_qp = 0xFFFFFF; break;   /* valid only for UD (R048) */
        case UC: pkt.bth.opcode = ROCE_OP_UC_WRITE_ONLY; break; /* not RC (R030) */
        case UD: pkt.bth.opcode = ROCE_OP_UD_SEND_ONLY; break;
        case XRC: pkt.bth.opcode = ROCE_OP_XRC_WRITE_ONLY; break;
        case CNP: pkt.bth.opcode = ROCE_OP_CNP_ROCE; break; /* ignored (R216) */
        case SRC_IP: pkt.ip4.src[3] ^= 4; break;            /* not the DGID of the QP (R051) */
        case DST_IP: pkt.ip4.dst[3] ^= 4; break;            /* not in the GID table (R052) */
        case DST_MAC: pkt.eth.dst[5] ^= 4; break;
        case PKEY: pkt.bth.pkey = 0xFFFE; break; /* another P_Key (R049) */
        case PKEY0: pkt.bth.pkey = 0x8000; break;
        case TVER: pkt.bth.tver = 1; break; /* TVer must be 0 (R025) */
        case ENCAP:
            pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, FIXTURE_PSN);
            roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP6, ROCE_OP_RC_WRITE_ONLY);
            memcpy(pkt.eth.dst, fixture.gen.dmac, 6);
            memcpy(pkt.ip6.src, fixture.gen.sgid, 16);
            memcpy(pkt.ip6.dst, fixture.gen.dgid, 16);
            pkt.bth.dest_qp = FIXTURE_QPN;
            pkt.bth.psn = FIXTURE_PSN;
            break;
        case RESPONSE:
            pkt.bth.opcode = ROCE_OP_RC_ACK;
            pkt.aeth = (struct roce_aeth){.syndrome = ACK};
            break;
        default: break;
        }
        fixture_in(&fixture, &pkt);
        fixture_expect_nothing(&fixture);
        counters = fixture_counters(&fixture);
        EXPECT_EQ(counters.rx_packets, 1);
        EXPECT_EQ(counters.rx_not_roce, what == DST_MAC);
        EXPECT_EQ(counters.rx_malformed, what == TVER);
        EXPECT_EQ(counters.rx_bad_pkey, what == PKEY || what == PKEY0);
        EXPECT_EQ(counters.rx_no_request, what == RESPONSE);
        EXPECT_EQ(counters.rx_no_qp, (what <= DST_IP && what != CNP) || what == ENCAP);
        EXPECT_EQ(counters.rp_cnp_ignored, what == CNP);
        EXPECT_EQ(counters.rx_icrc_encapsulated, 0);
        /* an invalid packet does not move the QP to ERR (R056) */
        EXPECT_EQ(fixture_state(&fixture), RNIC_QPS_RTS);
        pkt = write_only(FIXTURE_PSN, 0, NULL, 0); /* a valid packet is still accepted */
        fixture_in(&fixture, &pkt);
        fixture_expect_aeth(&fixture, FIXTURE_PSN, ACK, 1);
        fixture_free(&fixture);
    }
}

/* P_Keys of limited and full members (R049). */
static void r049_pkey(void)
{
    static const struct {
        uint16_t mine;
        uint16_t theirs;
        bool good;
    } rows[] = {
        {0xFFFF, 0xFFFF, true},  {0xFFFF, 0x7FFF, true},  {0x7FFF, 0xFFFF, true},
        {0x7FFF, 0x7FFF, false}, {0x8001, 0x0001, true},  {0x8001, 0x8001, true},
        {0x0001, 0x0001, false}, {0x8001, 0x8002, false}, {0x8001, 0x0000, false},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rnic_qp_attr attr;
        struct roce_pkt pkt;

        fixture_init(&fixture, ROCE_ENCAP_V2_IP6);
        fixture.attr.pkey = rows[i].mine;
        attr = fixture.attr;
        attr.state = RNIC_QPS_RESET;
        rnic_qp_modify(fixture.qp, &attr, fixture.now);
        fixture_connect(&fixture, fixture.qp);
        pkt = write_only(FIXTURE_PSN, 0, NULL, 0);
        pkt.bth.pkey = rows[i].theirs;
        fixture_in(&fixture, &pkt);
        EXPECT_EQ(fixture_out(&fixture, &pkt), rows[i].good);
        if (rows[i].good)
            EXPECT_EQ(pkt.bth.pkey, rows[i].mine); /* the response has the P_Key of the QP, not the
                                                    * P_Key of the request (R045) */
        EXPECT_EQ(fixture_counters(&fixture).rx_bad_pkey, !rows[i].good);
        fixture_free(&fixture);
    }
}

static void frames_that_are_not_roce_are_dropped(void)
{
    static const uint8_t arp[42] = {[0] = 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, [12] = 0x08, 0x06};
    struct pktgen_frame frame;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    rnic_input(fixture.rnic, arp, sizeof(arp), 0);
    EXPECT_EQ(fixture_counters(&fixture).rx_not_roce, 1);
    pkt = write_only(FIXTURE_PSN, 0, NULL, 0);
    pktgen_build(&pkt, &frame);
    for (size_t len = 0; len < frame.len; len++) { /* truncated at every length (R028) */
        uint8_t *exact = malloc(len ? len : 1);

        CU_ASSERT_FATAL(exact != NULL);
        memcpy(exact, frame.bytes, len);
        rnic_input(fixture.rnic, exact, len, 0);
        free(exact);
        fixture_expect_nothing(&fixture);
    }
    EXPECT_EQ(fixture_counters(&fixture).tx_packets, 0);
    fixture_free(&fixture);
}

/* A request with the expected PSN and a reserved opcode gets the NAK "invalid request" (R031). */
static void r031_reserved_opcode_is_nakked(void)
{
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    pkt = pktgen_pkt(&fixture.gen, 0x1F, FIXTURE_PSN);
    fixture_in(&fixture, &pkt);
    fixture_expect_aeth(&fixture, FIXTURE_PSN, ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ, 0);
    EXPECT_EQ(fixture_state(&fixture), RNIC_QPS_ERR);
    fixture_expect_event(&fixture, RNIC_EVENT_QP_REQ_ERR);
    fixture_free(&fixture);
}

static void r251_long_read_does_not_delay_other_qps(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .qpn = 0x33, .max_recv_sge = 1};
    struct rnic_qp *other;
    struct roce_pkt pkt;
    unsigned mine = 0;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    init.recv_cq = fixture.cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &other), RNIC_OK);
    fixture.attr.dest_qpn = 0x44;
    fixture_connect(&fixture, other);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, FIXTURE_IOVA, FIXTURE_KEY, 10 * 1024);
    fixture_in(&fixture, &pkt);
    pkt.bth.dest_qp = 0x33;
    fixture_in(&fixture, &pkt);
    for (unsigned i = 0; i < 20; i++) {
        CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
        EXPECT_EQ(pkt.bth.dest_qp, i % 2 ? 0x44u : FIXTURE_PEER_QPN);
        mine += pkt.bth.dest_qp == 0x44;
    }
    EXPECT_EQ(mine, 10);
    fixture_expect_nothing(&fixture);
    fixture_free(&fixture);
}

/* If the caller's buffer is shorter than the longest frame, rnic_output() returns no frame, and the
 * frame is not lost. */
static void small_buffer_loses_no_frame(void)
{
    static uint8_t buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    pkt = write_only(FIXTURE_PSN, 0, NULL, 0);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(rnic_output(fixture.rnic, buf, sizeof(buf) - 1, 0), 0);
    fixture_expect_aeth(&fixture, FIXTURE_PSN, ACK, 1);
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    rnic_expire(fixture.rnic, 1);
    fixture_free(&fixture);
}

static void new_limits(void)
{
    struct rnic_attr attr = {.gid_cnt = 0};

    CU_ASSERT(rnic_new(&attr) == NULL);
    attr.gid_cnt = RNIC_GID_MAX + 1;
    CU_ASSERT(rnic_new(&attr) == NULL);
    rnic_del(NULL);
    CU_ASSERT_STRING_EQUAL(rnic_error_text(RNIC_ERR_BUSY), "the object is still in use");
    CU_ASSERT_STRING_EQUAL(rnic_error_text(12345), "unknown error");
}

SUITE("device.rnic", TEST(end_to_end), TEST(response_envelope_comes_from_the_vector),
      TEST(derived_envelope), TEST(r024_flip_every_bit),
      TEST(r018_changes_on_the_path_are_accepted), TEST(r014_trailing_bytes_are_ignored),
      TEST(packet_with_an_invalid_field_is_dropped), TEST(r049_pkey),
      TEST(frames_that_are_not_roce_are_dropped), TEST(r031_reserved_opcode_is_nakked),
      TEST(r251_long_read_does_not_delay_other_qps), TEST(small_buffer_loses_no_frame),
      TEST(new_limits))
