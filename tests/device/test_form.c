/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Rules that one packet or one call can test, and that no other suite covers. */
#include <string.h>
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

#define ACK (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)

static struct device_fixture fixture;
static uint8_t data[4096];

static struct roce_pkt write_only(uint32_t psn, uint32_t len)
{
    return pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, psn, FIXTURE_IOVA, FIXTURE_KEY, len,
                        data, len);
}

/* A receiver must ignore reserved bits that are set, also those that the ICRC covers (R026). */
static void r026_reserved_bits_are_ignored(void)
{
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    pkt = write_only(FIXTURE_PSN, 4);
    pkt.bth.resv6 = 0x3F;
    pkt.bth.resv7 = 0x7F;
    pkt.bth.fecn = pkt.bth.becn = 1;
    pkt.bth.ackreq = 1;
    fixture_in(&fixture, &pkt);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ACK);
    EXPECT_EQ(pkt.aeth.msn, 1);
    EXPECT_EQ(pkt.bth.resv6 | pkt.bth.resv7 | pkt.bth.fecn | pkt.bth.becn, 0);
    fixture_free(&fixture);
}

/* The pad of a READ response is zero, whatever bytes follow the data in memory (R027). */
static void r027_pad_is_zero(void)
{
    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    memset(fixture.mem, 0xA5, 64);
    for (uint32_t len = 0; len <= 9; len++) {
        struct roce_pkt pkt =
            pktgen_read(&fixture.gen, FIXTURE_PSN + len, FIXTURE_IOVA, FIXTURE_KEY, len);

        fixture_in(&fixture, &pkt);
        CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
        EXPECT_EQ(pkt.payload_len, len);
        EXPECT_EQ(pkt.bth.padcnt, -len & 3);
        EXPECT_EQ((pkt.icrc_off - pkt.off[ROCE_HDR_BTH]) % 4, 0);
        for (uint32_t i = 0; i < pkt.bth.padcnt; i++)
            EXPECT_EQ(pkt.frame[pkt.icrc_off - 1 - i], 0);
    }
    fixture_free(&fixture);
}

static void r040_invalid_path_mtu_is_refused(void)
{
    static const uint32_t bad[] = {0, 1, 255, 257, 1500, 2047, 4097, 8192, UINT32_MAX};

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]) + 5; i++) {
        bool good = i >= sizeof(bad) / sizeof(bad[0]);
        struct rnic_qp_attr attr = fixture.attr;

        attr.state = RNIC_QPS_RESET;
        EXPECT_EQ(rnic_qp_modify(fixture.qp, &attr, 0), RNIC_OK);
        attr.state = RNIC_QPS_INIT;
        EXPECT_EQ(rnic_qp_modify(fixture.qp, &attr, 0), RNIC_OK);
        attr.state = RNIC_QPS_RTR;
        attr.path_mtu = good ? UINT32_C(256) << (i - sizeof(bad) / sizeof(bad[0])) : bad[i];
        EXPECT_EQ(rnic_qp_modify(fixture.qp, &attr, 0), good ? RNIC_OK : RNIC_ERR_INVALID);
    }
    fixture_free(&fixture);
}

/* Bytes of an incomplete SEND may be in the buffer, but the receive completes only with the last
 * packet (R091). */
static void r091_completion_with_the_last(void)
{
    struct roce_pkt pkt;
    struct rnic_wc wc;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    memset(data, 0x5A, sizeof(data));
    EXPECT_EQ(fixture_post(&fixture, 7, 0, 4096), RNIC_OK);
    pkt = pktgen_data(&fixture.gen, ROCE_OP_RC_SEND_FIRST, FIXTURE_PSN, data, 1024);
    fixture_in(&fixture, &pkt);
    pkt = pktgen_data(&fixture.gen, ROCE_OP_RC_SEND_MIDDLE, FIXTURE_PSN + 1, data, 1024);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 0);
    pkt = pktgen_data(&fixture.gen, ROCE_OP_RC_SEND_LAST, FIXTURE_PSN + 2, data, 5);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 1);
    EXPECT_EQ(wc.wr_id, 7);
    EXPECT_EQ(wc.byte_len, 2053);
    CU_ASSERT(memcmp(fixture.mem, data, 2053) == 0);
    fixture_free(&fixture);
}

/* The ACK for a packet with AckReq needs neither a later packet nor a delay (R100). */
static void r100_ack_does_not_wait(void)
{
    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (uint32_t i = 0; i < 4; i++) {
        struct roce_pkt pkt = write_only(FIXTURE_PSN + i, 64);

        pkt.bth.ackreq = i == 3;
        fixture_in(&fixture, &pkt);
    }
    fixture_expect_aeth(&fixture, FIXTURE_PSN + 3, ACK, 4);
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    fixture_free(&fixture);
}

/* Opcodes of the obsolete service RD are dropped: no response, no NAK 0x64, no change of state
 * (R182). */
static void r182_reliable_datagrams_are_dropped(void)
{
    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned op = 0x40; op <= 0x5F; op++) {
        struct roce_pkt pkt = write_only(FIXTURE_PSN, 0);
        struct pktgen_frame frame;

        pktgen_build(&pkt, &frame);
        pktgen_parse(&frame, &pkt);
        frame.bytes[pkt.off[ROCE_HDR_BTH]] = (uint8_t)op;
        pktgen_seal(&frame);
        rnic_input(fixture.rnic, frame.bytes, frame.len, fixture.now);
        fixture_expect_nothing(&fixture);
        EXPECT_EQ(fixture_state(&fixture), RNIC_QPS_RTS);
    }
    EXPECT_EQ(fixture_counters(&fixture).rx_no_qp + fixture_counters(&fixture).rx_malformed +
                  fixture_counters(&fixture).rx_icrc_encapsulated,
              0x20);
    {
        struct roce_pkt pkt = write_only(FIXTURE_PSN, 0);

        pkt.bth.ackreq = 1;
        fixture_in(&fixture, &pkt);
        fixture_expect_aeth(&fixture, FIXTURE_PSN, ACK, 1);
    }
    fixture_free(&fixture);
}

/* The device reports and serves the configured number of concurrent READs (R193). */
static void r193_as_many_as_reported(void)
{
    for (uint8_t cnt = 1; cnt <= RNIC_RD_ATOMIC_MAX; cnt++) {
        struct rnic_qp_attr attr;
        struct roce_pkt pkt;

        fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
        attr = fixture.attr;
        attr.state = RNIC_QPS_RESET;
        EXPECT_EQ(rnic_qp_modify(fixture.qp, &attr, 0), RNIC_OK);
        fixture.attr.max_dest_rd_atomic = cnt;
        fixture_connect(&fixture, fixture.qp);
        rnic_qp_query(fixture.qp, &attr, NULL);
        EXPECT_EQ(attr.max_dest_rd_atomic, cnt);
        for (uint8_t i = 0; i < cnt; i++) {
            pkt = pktgen_read(&fixture.gen, FIXTURE_PSN + i, FIXTURE_IOVA, FIXTURE_KEY, 8);
            fixture_in(&fixture, &pkt);
        }
        for (uint8_t i = 0; i < cnt; i++) {
            CU_ASSERT(fixture_out(&fixture, &pkt));
            EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_READ_RESP_ONLY);
            EXPECT_EQ(pkt.bth.psn, (FIXTURE_PSN + i) & ROCE_PSN_MASK);
        }
        fixture_free(&fixture);
    }
}

/* Alternate paths are not supported (R197). */
static void r197_no_alternate_path(void)
{
    static const unsigned masks[] = {RNIC_QP_ALT_PATH, RNIC_QP_PATH_MIG_STATE};

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(rnic_qp_modify_mask(fixture.qp, &fixture.attr, masks[i], fixture.now),
                  RNIC_ERR_INVALID);
    EXPECT_EQ(fixture_state(&fixture), RNIC_QPS_RTS);
    fixture_free(&fixture);
}

/* A completion in error has the right request, QP and status (R199). */
static void r199_error_completion_names_request_and_status(void)
{
    struct roce_pkt pkt;
    struct rnic_wc wc;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(fixture_post(&fixture, 41, 0, 8), RNIC_OK);
    EXPECT_EQ(fixture_post(&fixture, 42, 0, 8), RNIC_OK);
    pkt = pktgen_data(&fixture.gen, ROCE_OP_RC_SEND_ONLY, FIXTURE_PSN, data, 9);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 1);
    EXPECT_EQ(wc.wr_id, 41);
    EXPECT_EQ(wc.status, RNIC_WC_LOC_LEN_ERR);
    EXPECT_EQ(wc.qpn, FIXTURE_QPN);
    EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 1);
    EXPECT_EQ(wc.wr_id, 42);
    EXPECT_EQ(wc.status, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(wc.qpn, FIXTURE_QPN);
    fixture_free(&fixture);
}

SUITE("device.form", TEST(r026_reserved_bits_are_ignored), TEST(r027_pad_is_zero),
      TEST(r040_invalid_path_mtu_is_refused), TEST(r091_completion_with_the_last),
      TEST(r100_ack_does_not_wait), TEST(r182_reliable_datagrams_are_dropped),
      TEST(r193_as_many_as_reported), TEST(r197_no_alternate_path),
      TEST(r199_error_completion_names_request_and_status))
