/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Builds, for each row of defects.def, a frame with only this defect. The parser must report
 * exactly this defect. */
#include <stdlib.h>
#include "support/sample.h"
#include "support/suite.h"
#include "wire/crc32.h"

#define CNT(a)      (sizeof(a) / sizeof((a)[0]))
#define BIT(defect) (UINT32_C(1) << ROCE_DEFECT_##defect)

/* Offsets of the headers in the frame of good(): RoCEv2 over IPv4, without tags and options. */
enum { IP = 14, UDP = 34, BTH = 42, PAYLOAD = 54 };

struct bad {
    struct roce_pkt model;
    uint8_t frame[512];
    size_t len;
};

static void good(struct bad *b, enum roce_encap encap, uint8_t opcode, uint32_t payload_len)
{
    static const uint8_t payload[64] =
        "sixty-four bytes of payload, of which a test takes some.......";
    struct rng rng = rng_of(7);

    memset(b, 0, sizeof(*b));
    sample_pkt(&b->model, &rng, encap, opcode, 0, payload, payload_len);
}

static void rebuild(struct bad *b, unsigned keep)
{
    int len = roce_pkt_build(&b->model, keep, b->frame, sizeof(b->frame));

    CU_ASSERT_FATAL(len > 0);
    b->len = (size_t)len;
}

/* Parses the first `cap_len` bytes of the frame, from a memory block of exactly this size. Checks
 * the result and the defects. */
static void expect_defects(const struct bad *b, size_t cap_len, int error, uint32_t defects,
                           struct roce_pkt *out)
{
    uint8_t *exact = sample_exact(b->frame, cap_len);
    struct roce_pkt pkt;
    int got = roce_pkt_parse(&pkt, sample_link(b->model.encap), exact, cap_len, b->len);

    EXPECT_EQ(got, error);
    EXPECT_EQ(pkt.defects, defects);
    free(exact);
    if (out)
        *out = pkt;
}

static void expect_only(const struct bad *b, int error, uint32_t defects)
{
    expect_defects(b, b->len, error, defects, NULL);
}

static void defect_cut(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 4);
    rebuild(&b, 0);
    expect_defects(&b, b.len - 1, 0, BIT(CUT), NULL);
}

static void defect_trailer(void)
{
    struct roce_pkt pkt;
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0);
    rebuild(&b, 0);
    EXPECT_EQ(b.len, 58);
    b.len = 60; /* minimum length of an Ethernet frame without FCS */
    expect_defects(&b, b.len, 0, BIT(TRAILER), &pkt);
    EXPECT_EQ(pkt.end_off, 58);
    EXPECT_EQ(roce_pkt_dropped(&pkt), false);
}

static void defect_fcs(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 4);
    rebuild(&b, 0);
    roce_le32_put(b.frame + b.len, roce_crc32_portable(0, b.frame, b.len));
    b.len += 4;
    expect_only(&b, 0, BIT(FCS));
    b.frame[b.len - 1] ^= 1; /* four bytes after the packet that are not a correct frame check
                              * sequence are a trailer */
    expect_only(&b, 0, BIT(TRAILER));
    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0);
    rebuild(&b, 0);
    b.len = 60;
    roce_le32_put(b.frame + b.len, roce_crc32_portable(0, b.frame, b.len));
    b.len += 4;
    expect_only(&b, 0, BIT(FCS) | BIT(TRAILER));
}

static void defect_short_link(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0);
    rebuild(&b, 0);
    b.len = 13;
    expect_only(&b, ROCE_ERR_MALFORMED, BIT(SHORT_LINK));
    good(&b, ROCE_ENCAP_IB_LOCAL, ROCE_OP_RC_SEND_ONLY, 0);
    rebuild(&b, 0);
    b.len = 7;
    expect_only(&b, ROCE_ERR_MALFORMED, BIT(SHORT_LINK));
}

static void defect_ip_version(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 4);
    b.model.ip4.version = 5;
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(IP_VERSION));
    good(&b, ROCE_ENCAP_V2_IP6, ROCE_OP_RC_SEND_ONLY, 4);
    b.model.ip6.version = 4;
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(IP_VERSION));
}

static void defect_ip_short(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0);
    rebuild(&b, 0);
    b.len = IP + 19;
    expect_only(&b, ROCE_ERR_MALFORMED, BIT(IP_SHORT));
    good(&b, ROCE_ENCAP_V2_IP6, ROCE_OP_RC_SEND_ONLY, 0);
    rebuild(&b, 0);
    b.len = IP + 39;
    expect_only(&b, ROCE_ERR_MALFORMED, BIT(IP_SHORT));
}

static void defect_ip_ihl(void)
{
    struct bad b;

    for (uint8_t ihl = 0; ihl < 5; ihl++) {
        good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 4);
        rebuild(&b, 0);
        b.frame[IP] = (uint8_t)(0x40 | ihl);
        expect_only(&b, ROCE_ERR_MALFORMED, BIT(IP_IHL));
    }
}

static void defect_ip_options(void)
{
    struct roce_pkt pkt;
    struct bad b;

    for (uint8_t len = 4; len <= ROCE_IP4_OPTIONS_MAX; len += 4) {
        good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 4);
        b.model.ip4_options_len = len;
        memset(b.model.ip4_options, 1, len); /* IPv4 option "no operation" */
        rebuild(&b, 0);
        expect_defects(&b, b.len, 0, BIT(IP_OPTIONS), &pkt);
        EXPECT_EQ(pkt.ip4_options_len, len);
        EXPECT_EQ(pkt.off[ROCE_HDR_UDP], UDP + len);
        CU_ASSERT(memcmp(pkt.ip4_options, b.model.ip4_options, len) == 0);
        EXPECT_EQ(pkt.bth.psn, b.model.bth.psn);
    }
}

static void defect_ip_fragment(void)
{
    struct roce_pkt pkt;
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 4);
    b.model.ip4.mf = 1;
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(IP_FRAGMENT));
    /* The first fragment contains neither the whole UDP datagram nor the ICRC. */
    b.frame[UDP + 4] = 4;
    expect_defects(&b, b.len, 0, BIT(IP_FRAGMENT), &pkt);
    EXPECT_EQ(roce_pkt_icrc_check(&pkt, NULL), ROCE_ICRC_UNVERIFIED);
    b.model.ip4.frag = 1; /* a later fragment has no BTH, so it may be of any protocol */
    rebuild(&b, 0);
    expect_only(&b, ROCE_ERR_NOT_ROCE, BIT(IP_FRAGMENT));
}

static void defect_ip_checksum(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 4);
    rebuild(&b, 0);
    b.frame[IP + 8]--; /* the TTL changes but the checksum does not, as behind a faulty router */
    expect_only(&b, 0, BIT(IP_CHECKSUM));
    b.frame[IP + 10] = b.frame[IP + 11] = 0;
    expect_only(&b, 0, BIT(IP_CHECKSUM_0));
    roce_ip4_set_checksum(b.frame + IP, 20);
    expect_only(&b, 0, 0);
}

static void defect_ip_len(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 4);
    rebuild(&b, 0);
    b.model.ip4.len = (uint16_t)(b.len - IP + 1);
    b.model.udp.len = (uint16_t)(b.len - UDP);
    b.model.ip4.ihl = 5;
    rebuild(&b, ROCE_BUILD_KEEP_LEN);
    expect_only(&b, 0, BIT(IP_LEN));
    good(&b, ROCE_ENCAP_V2_IP6, ROCE_OP_RC_SEND_ONLY, 4);
    rebuild(&b, 0);
    b.model.ip6.len = (uint16_t)(b.len - 54 + 1);
    b.model.udp.len = (uint16_t)(b.len - 54);
    rebuild(&b, ROCE_BUILD_KEEP_LEN);
    expect_only(&b, 0, BIT(IP_LEN));
}

static void defect_ip6_ext(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP6, ROCE_OP_RC_SEND_ONLY, 4);
    rebuild(&b, 0);
    memmove(b.frame + 62, b.frame + 54, b.len - 54);
    memcpy(b.frame + 54, "\x11\x00\x01\x04\0\0\0\0", 8);
    b.frame[20] = 60;
    b.frame[19] = (uint8_t)(b.frame[19] + 8);
    b.len += 8;
    expect_only(&b, 0, BIT(IP6_EXT));
}

static void defect_udp_short(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0);
    b.model.ip4.len = 20 + 7;
    rebuild(&b, ROCE_BUILD_KEEP_LEN);
    expect_only(&b, ROCE_ERR_MALFORMED, BIT(UDP_SHORT));
}

static void defect_udp_len(void)
{
    static const int off[] = {-4, 1, 4, 1000};
    struct bad b;

    for (size_t i = 0; i < CNT(off); i++) {
        good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 8);
        rebuild(&b, 0);
        b.model.ip4.len = (uint16_t)(b.len - IP);
        b.model.udp.len = (uint16_t)((int)b.len - UDP + off[i]);
        rebuild(&b, ROCE_BUILD_KEEP_LEN);
        b.model.ip4.ihl = 5;
        if (off[i] < 0) { /* the IP packet has bytes after the UDP datagram, which are a trailer */
            expect_only(&b, 0, BIT(UDP_LEN) | BIT(TRAILER));
            continue;
        }
        expect_only(&b, 0, BIT(UDP_LEN));
    }
}

static void defect_lrh_len(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_IB_LOCAL, ROCE_OP_RC_SEND_ONLY, 4);
    rebuild(&b, 0);
    b.len -= 2; /* without the VCRC the length is a multiple of 4, so only LRH.PktLen is wrong */
    b.frame[5]++;
    expect_only(&b, 0, BIT(LRH_LEN));
}

static void defect_grh_short(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V1, ROCE_OP_RC_SEND_ONLY, 0);
    rebuild(&b, 0);
    b.len = 14 + 39;
    expect_only(&b, ROCE_ERR_MALFORMED, BIT(GRH_SHORT));
}

static void defect_grh_version(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V1, ROCE_OP_RC_SEND_ONLY, 4);
    b.model.grh.ipver = 4;
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(GRH_VERSION));
}

static void defect_grh_next(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V1, ROCE_OP_RC_SEND_ONLY, 4);
    b.model.grh.next = 17;
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(GRH_NEXT));
}

static void defect_grh_len(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V1, ROCE_OP_RC_SEND_ONLY, 4);
    rebuild(&b, 0);
    b.frame[14 + 5]++;
    expect_only(&b, 0, BIT(GRH_LEN));
    good(&b, ROCE_ENCAP_IB_GLOBAL, ROCE_OP_RC_SEND_ONLY, 4);
    rebuild(&b, 0);
    b.frame[8 + 5]++;
    expect_only(&b, 0, BIT(GRH_LEN));
}

static void defect_bth_short(void)
{
    struct bad b;

    for (unsigned len = 0; len < 16; len++) {
        good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0);
        b.model.ip4.len = (uint16_t)(28 + len);
        b.model.udp.len = (uint16_t)(8 + len);
        rebuild(&b, ROCE_BUILD_KEEP_LEN);
        b.len = BTH + len;
        expect_only(&b, ROCE_ERR_MALFORMED, BIT(BTH_SHORT));
    }
}

static void defect_hdr_short(void)
{
    struct roce_pkt pkt;
    struct bad b;

    for (unsigned v = 0; v < 256; v++) {
        const struct roce_opcode *op = roce_opcode((uint8_t)v);

        for (unsigned missing = 4; op->hdr_cnt && missing <= op->len - 12u; missing += 4) {
            good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, op->len - 12u - missing);
            rebuild(&b, 0);
            b.frame[BTH] = (uint8_t)v;
            expect_defects(&b, b.len, 0, BIT(HDR_SHORT), &pkt);
            EXPECT_EQ(pkt.payload_len, 0);
            CU_ASSERT_PTR_NULL(pkt.payload);
            CU_ASSERT_TRUE(roce_pkt_dropped(&pkt));
        }
    }
}

static void defect_pad_count(void)
{
    struct roce_pkt pkt;
    struct bad b;

    for (uint8_t pad = 1; pad < 4; pad++) {
        good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0);
        rebuild(&b, 0);
        b.frame[BTH + 1] = (uint8_t)((b.frame[BTH + 1] & 0xCF) | pad << 4);
        expect_defects(&b, b.len, 0, BIT(PAD_COUNT), &pkt);
        EXPECT_EQ(pkt.payload_len, 0); /* the length must not become negative and wrap (R029) */
    }
}

static void defect_align(void)
{
    struct roce_pkt pkt;
    struct bad b;

    for (uint32_t len = 1; len < 4; len++) {
        good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, len);
        b.model.bth.padcnt = 0;
        rebuild(&b, ROCE_BUILD_KEEP_PAD);
        expect_defects(&b, b.len, 0, BIT(ALIGN), &pkt);
        EXPECT_EQ(pkt.payload_len, len);
    }
}

static void defect_payload(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ACK, 4);
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(PAYLOAD));
    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_READ_REQUEST, 1);
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(PAYLOAD));
    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ATOMIC_WRITE, 12);
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(PAYLOAD));
    good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ATOMIC_WRITE, 4);
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(PAYLOAD));
}

static void defect_opcode(void)
{
    struct bad b;

    good(&b, ROCE_ENCAP_V2_IP4, 0x15, 4);
    rebuild(&b, 0);
    expect_only(&b, 0, BIT(OPCODE));
    good(&b, ROCE_ENCAP_V2_IP4, 0xC0, 4); /* a manufacturer-specific opcode is not a defect */
    rebuild(&b, 0);
    expect_only(&b, 0, 0);
}

static void defect_tver(void)
{
    struct bad b;

    for (uint8_t tver = 1; tver < 16; tver++) {
        good(&b, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 4);
        b.model.bth.tver = tver;
        rebuild(&b, 0);
        expect_only(&b, 0, BIT(TVER));
    }
}

static void every_defect_has_a_description(void)
{
    for (unsigned d = 0; d < ROCE_DEFECT_CNT; d++) {
        const struct roce_defect_info *info = roce_defect_info((enum roce_defect)d);
        struct roce_pkt pkt = {.defects = UINT32_C(1) << d};

        CU_ASSERT(*info->id && *info->text && *info->source);
        EXPECT_EQ(roce_pkt_dropped(&pkt), info->severity != ROCE_DEFECT_INFO);
        EXPECT_EQ(roce_pkt_defect(&pkt, (enum roce_defect)d), true);
        for (unsigned e = 0; e < d; e++) {
            CU_ASSERT_STRING_NOT_EQUAL(info->id, roce_defect_info((enum roce_defect)e)->id);
            CU_ASSERT_STRING_NOT_EQUAL(info->text, roce_defect_info((enum roce_defect)e)->text);
        }
    }
    for (int error = ROCE_ERR_INVALID; error <= ROCE_OK; error++)
        CU_ASSERT_STRING_NOT_EQUAL(roce_error_text(error), "unknown error");
    CU_ASSERT_STRING_EQUAL(roce_error_text(1), "unknown error");
    CU_ASSERT_STRING_EQUAL(roce_error_text(-1000), "unknown error");
}

SUITE("wire.defect", TEST(defect_cut), TEST(defect_trailer), TEST(defect_fcs),
      TEST(defect_short_link), TEST(defect_ip_version), TEST(defect_ip_short), TEST(defect_ip_ihl),
      TEST(defect_ip_options), TEST(defect_ip_fragment), TEST(defect_ip_checksum),
      TEST(defect_ip_len), TEST(defect_ip6_ext), TEST(defect_udp_short), TEST(defect_udp_len),
      TEST(defect_lrh_len), TEST(defect_grh_short), TEST(defect_grh_version), TEST(defect_grh_next),
      TEST(defect_grh_len), TEST(defect_bth_short), TEST(defect_hdr_short), TEST(defect_pad_count),
      TEST(defect_align), TEST(defect_payload), TEST(defect_opcode), TEST(defect_tver),
      TEST(every_defect_has_a_description))
