/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks the ICRC against another implementation (support/refcrc.h), and against published frames
 * that contain their ICRC.
 */
#include <stdlib.h>
#include "support/refcrc.h"
#include "support/sample.h"
#include "support/suite.h"
#include "wire/crc32.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- tests of the ICRC ----------------------------------------------------------------------- */

static void crc_has_its_check_value(void)
{
    static const uint8_t digits[] = "123456789";

    EXPECT_EQ(roce_crc32(0, digits, 9), 0xCBF43926);
    EXPECT_EQ(roce_crc32_portable(0, digits, 9), 0xCBF43926);
    EXPECT_EQ(ref_crc32(digits, 9), 0xCBF43926);
    CU_ASSERT(*roce_crc32_name());
}

static void crc_back_ends_agree_on_any_split(void)
{
    struct rng rng = rng_seed();

    for (int round = 0; round < 300; round++) {
        size_t len = rng_below(&rng, 700), cut = rng_below(&rng, (uint32_t)len + 1);
        uint8_t *p = malloc(len + 1);
        uint32_t want;

        rng_fill(&rng, p, len);
        want = ref_crc32(p, len);
        EXPECT_EQ(roce_crc32(0, p, len), want);
        EXPECT_EQ(roce_crc32_portable(0, p, len), want);
        EXPECT_EQ(roce_crc32(roce_crc32(0, p, cut), p + cut, len - cut), want);
        EXPECT_EQ(roce_crc32_portable(roce_crc32(0, p, cut), p + cut, len - cut), want);
        free(p);
    }
}

/* roce_crc32_copy() must copy exactly the given bytes and continue any earlier CRC. Tested with all
 * lengths around the sizes of vectors, with random lengths, and with random alignments. */
static void crc_copies(void)
{
    static uint8_t from[5000], to[5000], want[5000];
    struct rng rng = rng_seed();

    CU_ASSERT(*roce_crc32_copy_name());
    for (uint32_t round = 0; round < 2000; round++) {
        size_t len = round < 1200 ? round : rng_below(&rng, 4200);
        size_t at = rng_below(&rng, 200), off = 1 + rng_below(&rng, 200);
        uint32_t before = (uint32_t)rng_u64(&rng);

        rng_fill(&rng, from + at, len);
        memset(to, 0xA5, sizeof(to));
        memset(want, 0xA5, sizeof(want));
        memcpy(want + off, from + at, len);
        EXPECT_EQ(roce_crc32_copy(before, to + off, from + at, len),
                  roce_crc32_portable(before, from + at, len));
        CU_ASSERT(memcmp(to, want, sizeof(to)) == 0);
    }
}

/* roce_crc32_ones() must compute the CRC as if the given bytes were ORed with ones, for any length
 * and alignment. */
static void crc_with_ones(void)
{
    static uint8_t p[5000], copy[5000];
    uint8_t ones[ROCE_CRC_ONES];
    struct rng rng = rng_seed();

    for (uint32_t round = 0; round < 2000; round++) {
        size_t len = round < 1200 ? round : rng_below(&rng, 4200), at = rng_below(&rng, 200);
        uint32_t before = (uint32_t)rng_u64(&rng), crc = before;

        rng_fill(&rng, p + at, len);
        rng_fill(&rng, ones, sizeof(ones));
        memcpy(copy, p + at, len);
        for (size_t i = 0; i < len && i < sizeof(ones); i++)
            copy[i] |= ones[i];
        if (roce_crc32_ones(&crc, p + at, len, ones))
            EXPECT_EQ(crc, roce_crc32_portable(before, copy, len));
        else
            EXPECT_EQ(crc, before);
    }
}

/*
 * The sample packet with a local route header in IBTA vol. 1, 7.8, table 29. VL and BTH byte 4
 * already contain ones, as the ICRC is computed. The ICRC must be 0x9625B75A, stored so that byte
 * 52 of the packet is 0x96 and byte 55 is 0x5A. (Quoted by Jason Gunthorpe on linux-rdma,
 * 2025-01-29, "handle ICRC correctly on big endian".)
 */
static void ibta_sample_packet(void)
{
    static const uint8_t p[] = {
        0xF0, 0x12, 0x37, 0x5C, 0x00, 0x0E, 0x17, 0xD2, 0x0A, 0x20, 0x24, 0x87, 0xFF,
        0x87, 0xB1, 0xB3, 0x00, 0x0D, 0xEC, 0x2A, 0x01, 0x71, 0x0A, 0x1C, 0x01, 0x5D,
        0x40, 0x02, 0x38, 0xF2, 0x7A, 0x05, 0x00, 0x00, 0x00, 0x0E, 0xBB, 0x88, 0x4D,
        0x85, 0xFD, 0x5C, 0xFB, 0xA4, 0x72, 0x8B, 0xC0, 0x69, 0x0E, 0xD4, 0x00, 0x00,
    };
    uint8_t changed[sizeof(p)], stored[4];

    EXPECT_EQ(sizeof(p), 52);
    roce_le32_put(stored, roce_icrc(ROCE_ENCAP_IB_LOCAL, p, ROCE_LRH_LEN, sizeof(p)));
    CU_ASSERT(memcmp(stored, "\x96\x25\xB7\x5A", 4) == 0);
    memcpy(changed, p, sizeof(p));
    changed[0] = 0x70; /* change the VL, and clear the ones in BTH byte 4: the ICRC masks both */
    changed[12] = 0;
    EXPECT_EQ(roce_icrc(ROCE_ENCAP_IB_LOCAL, changed, ROCE_LRH_LEN, sizeof(p)),
              roce_le32_get(stored));
}

/* Initializes *pkt as the UC packet in test/contrib/roce.uts of scapy, except for the network
 * layer, which the caller sets. */
static void scapy_uc(struct roce_pkt *pkt, enum roce_encap encap)
{
    static const uint8_t payload[] = {0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9, 0x0e,
                                      0x9a, 0x95, 0x50, 0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50};

    roce_pkt_init(pkt, encap, ROCE_OP_UC_SEND_ONLY);
    memcpy(pkt->eth.dst, "\x24\x8a\x07\xa8\xfa\x22", 6);
    memcpy(pkt->eth.src, "\x24\x8a\x07\xa8\xfa\x22", 6);
    pkt->udp.sport = 49152;
    pkt->bth.dest_qp = 211;
    pkt->bth.psn = 13571856;
    pkt->payload = payload;
    pkt->payload_len = sizeof(payload);
}

static void expect_stored(const struct roce_pkt *pkt, const char *icrc)
{
    uint8_t frame[256];
    int len = roce_pkt_build(pkt, 0, frame, sizeof(frame));

    CU_ASSERT_FATAL(len > 4);
    CU_ASSERT(memcmp(frame + len - 4, icrc, 4) == 0);
}

/* The UC packet over IPv4 in test/contrib/roce.uts of scapy, "RoCE layer", must have the ICRC in
 * that file (R017, R018, R022). */
static void scapy_ipv4_packet(void)
{
    struct roce_pkt pkt, back;
    uint8_t frame[256];
    int len;

    scapy_uc(&pkt, ROCE_ENCAP_V2_IP4);
    pkt.ip4.ecn = 1;
    pkt.ip4.id = 1144;
    memcpy(pkt.ip4.src, "\xc0\xa8\x00\x07", 4);
    memcpy(pkt.ip4.dst, "\xc0\xa8\x00\x07", 4);
    pkt.udp.csum = 0xaca2;
    expect_stored(&pkt, "\x78\xf3\x53\xf3");
    len = roce_pkt_build(&pkt, 0, frame, sizeof(frame));
    EXPECT_EQ(roce_pkt_parse(&back, ROCE_LINK_ETHERNET, frame, (size_t)len, (size_t)len), 0);
    EXPECT_EQ(back.ip4.len, 64);
    EXPECT_EQ(back.udp.len, 44);
    EXPECT_EQ(back.ip4.csum, 0xb4d5);
    EXPECT_EQ(back.bth.padcnt, 2);
    EXPECT_EQ(back.defects, 0);
}

/* The UC packet over IPv6 in test/contrib/roce.uts of scapy, "RoCE over IPv6", must have the ICRC
 * in that file (R017, R019). */
static void scapy_ipv6_packet(void)
{
    struct roce_pkt pkt;

    scapy_uc(&pkt, ROCE_ENCAP_V2_IP6);
    pkt.ip6.dscp = 226 >> 2;
    pkt.ip6.ecn = 226 & 3;
    pkt.ip6.flow = 0x1face;
    pkt.ip6.hop = 255;
    memcpy(pkt.ip6.src, "\x20\x22\0\0\0\0\0\0\0\0\0\0\0\0\x10\x23", 16);
    memcpy(pkt.ip6.dst, "\x20\x23\0\0\0\0\0\0\0\0\0\0\0\0\x10\x24", 16);
    expect_stored(&pkt, "\x3e\x5b\x74\x3b");
}

/* A CNP of a real NIC in test/contrib/roce.uts of scapy, "RoCE CNP captured on ConnectX-4 Lx", must
 * have a correct ICRC. */
static void connectx4_cnp(void)
{
    static const uint8_t frame[] = {
        0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2, 0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32, 0x08, 0x00, 0x45,
        0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01,
        0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, 0x81, 0x00, 0xff,
        0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a,
    };
    struct roce_pkt pkt;
    uint32_t icrc = 0;

    EXPECT_EQ(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, sizeof(frame), sizeof(frame)), 0);
    EXPECT_EQ(pkt.defects, 0);
    EXPECT_EQ(pkt.op->kind, ROCE_KIND_CNP);
    EXPECT_EQ(pkt.bth.becn, 1);
    EXPECT_EQ(pkt.bth.dest_qp, 0x118);
    EXPECT_EQ(roce_pkt_icrc_check(&pkt, &icrc), ROCE_ICRC_GOOD);
    EXPECT_EQ(icrc, 0x2a00fd82);
    EXPECT_EQ(ref_icrc(&pkt), icrc);
}

static const enum roce_encap encaps[] = {ROCE_ENCAP_IB_LOCAL, ROCE_ENCAP_IB_GLOBAL, ROCE_ENCAP_V1,
                                         ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};

static void both_implementations_agree(void)
{
    struct rng rng = rng_seed();
    uint8_t payload[300], frame[600];

    for (int round = 0; round < 200; round++)
        for (size_t e = 0; e < CNT(encaps); e++) {
            uint8_t opcode = (uint8_t)rng_u64(&rng);
            uint32_t wanted = rng_below(&rng, sizeof(payload));
            struct roce_pkt pkt, back;
            uint32_t icrc;
            int len;

            rng_fill(&rng, payload, sizeof(payload));
            sample_pkt(&pkt, &rng, encaps[e], opcode, rng_below(&rng, 3), payload,
                       sample_payload_len(opcode, wanted));
            len = roce_pkt_build(&pkt, 0, frame, sizeof(frame));
            CU_ASSERT_FATAL(len > 0);
            EXPECT_EQ(
                roce_pkt_parse(&back, sample_link(encaps[e]), frame, (size_t)len, (size_t)len), 0);
            EXPECT_EQ(roce_pkt_icrc_check(&back, &icrc), ROCE_ICRC_GOOD);
            EXPECT_EQ(icrc, ref_icrc(&back));
            EXPECT_EQ(icrc, back.icrc);
        }
}

/* Returns whether a receiver that checks only the format and the ICRC accepts the frame. It ignores
 * a wrong IPv4 checksum, which a router corrects when it changes TOS or TTL. */
static bool accepted(enum roce_link link, const uint8_t *frame, size_t len)
{
    struct roce_pkt pkt;

    if (roce_pkt_parse(&pkt, link, frame, len, len))
        return false;
    pkt.defects &= ~(UINT32_C(1) << ROCE_DEFECT_IP_CHECKSUM);
    return !roce_pkt_dropped(&pkt) && roce_pkt_icrc_check(&pkt, NULL) == ROCE_ICRC_GOOD;
}

/* Returns whether inverting this bit changes the type of a VLAN tag from 0x8100 to 0x9100, or
 * back. */
static bool tag_type(const struct roce_pkt *pkt, size_t bit)
{
    size_t off = bit / 8;

    return off >= 12 && off < 12 + 4u * pkt->vlan_cnt && (off - 12) % 4 == 0 && bit % 8 == 3 &&
           (pkt->frame[off] | 0x10) == 0x91 && pkt->frame[off + 1] == 0;
}

/* Returns whether the ICRC does not cover this bit, and the parser ignores it. Such bits are in the
 * addresses and tags of the link layer before the covered bytes, and in the VCRC after them. */
static bool outside(const struct roce_pkt *pkt, size_t bit)
{
    if (bit / 8 >= pkt->icrc_off + 4)
        return true;
    if (bit / 8 >= pkt->net_off)
        return false;
    if (bit / 8 < 12 || tag_type(pkt, bit))
        return true;
    return roce_pkt_has(pkt, ROCE_HDR_VLAN) && (bit / 8 - 14) % 4 < 2 && bit / 8 >= 14;
}

/* Inverts each bit of a packet. A receiver must accept the packet only if outside() is true for the
 * bit or the ICRC masks it (R024). */
static void every_bit_flip(enum roce_encap encap, uint8_t opcode, unsigned vlan_cnt,
                           uint32_t payload_len)
{
    struct rng rng = rng_of(encap * 256u + opcode);
    enum roce_link link = sample_link(encap);
    struct roce_pkt pkt, back;
    uint8_t payload[64], frame[256];
    unsigned survivors = 0, want = 0;
    int len;

    rng_fill(&rng, payload, sizeof(payload));
    sample_pkt(&pkt, &rng, encap, opcode, vlan_cnt, payload, payload_len);
    len = roce_pkt_build(&pkt, 0, frame, sizeof(frame));
    CU_ASSERT_FATAL(len > 0);
    EXPECT_EQ(roce_pkt_parse(&back, link, frame, (size_t)len, (size_t)len), 0);
    CU_ASSERT(accepted(link, frame, (size_t)len));
    for (size_t bit = 0; bit < (size_t)len * 8; bit++) {
        bool may = outside(&back, bit) || (ref_masked(&back, bit) && !ref_leads(&back, bit));
        bool does;

        frame[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        does = accepted(link, frame, (size_t)len);
        frame[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        survivors += does;
        want += may;
        if (may != does)
            suite_fail(__FILE__, __LINE__, "encapsulation %d: an inverted bit %zu of byte %zu %s",
                       (int)encap, bit % 8, bit / 8,
                       does ? "is not detected" : "is detected, although it may change");
    }
    EXPECT_EQ(survivors, want);
}

static void flips_ipv4(void)
{
    every_bit_flip(ROCE_ENCAP_V2_IP4, ROCE_OP_RC_WRITE_ONLY, 0, 13);
    every_bit_flip(ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ACK, 2, 0);
}

static void flips_ipv6(void)
{
    every_bit_flip(ROCE_ENCAP_V2_IP6, ROCE_OP_UC_SEND_ONLY_IMM, 0, 13);
    every_bit_flip(ROCE_ENCAP_V2_IP6, ROCE_OP_RC_ATOMIC_ACK, 1, 0);
}

static void flips_rocev1(void)
{
    every_bit_flip(ROCE_ENCAP_V1, ROCE_OP_UD_SEND_ONLY, 0, 14);
    every_bit_flip(ROCE_ENCAP_V1, ROCE_OP_XRC_READ_REQUEST, 1, 0);
}

static void flips_native_local(void)
{
    every_bit_flip(ROCE_ENCAP_IB_LOCAL, ROCE_OP_RC_SEND_ONLY, 0, 15);
}

static void flips_native_global(void)
{
    every_bit_flip(ROCE_ENCAP_IB_GLOBAL, ROCE_OP_RC_READ_RESP_ONLY, 0, 16);
}

/* A router decrements the TTL, changes the DSCP, marks ECN and corrects the checksum; a switch sets
 * FECN. After that, the packet must have no defect and a correct ICRC. */
static void what_routers_do_is_no_defect(void)
{
    struct rng rng = rng_seed();
    uint8_t payload[5] = {1, 2, 3, 4, 5}, frame[256];
    struct roce_pkt pkt, back;
    uint32_t icrc;
    int len;

    sample_pkt(&pkt, &rng, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0, payload, sizeof(payload));
    len = roce_pkt_build(&pkt, 0, frame, sizeof(frame));
    CU_ASSERT_FATAL(len > 0);
    icrc = roce_le32_get(frame + len - 4);
    pkt.ip4.ttl--;
    pkt.ip4.dscp ^= 0x15;
    pkt.ip4.ecn = 3;
    pkt.bth.fecn = 1;
    pkt.udp.csum = 0;
    pkt.icrc = icrc;
    len = roce_pkt_build(&pkt, ROCE_BUILD_KEEP_ICRC, frame, sizeof(frame));
    EXPECT_EQ(roce_pkt_parse(&back, ROCE_LINK_ETHERNET, frame, (size_t)len, (size_t)len), 0);
    EXPECT_EQ(back.defects, 0);
    EXPECT_EQ(roce_pkt_icrc_check(&back, NULL), ROCE_ICRC_GOOD);
}

/* roce_icrc_own() must return the same ICRC as roce_icrc(), and must not change the packet. Tested
 * with random lengths, and with and without IP options before the BTH. */
static void own_packets_are_left_as_they_were(void)
{
    static const uint8_t bth_off[] = {
        [ROCE_ENCAP_IB_LOCAL] = 8, [ROCE_ENCAP_IB_GLOBAL] = 48, [ROCE_ENCAP_V1] = 40,
        [ROCE_ENCAP_V2_IP4] = 28,  [ROCE_ENCAP_V2_IP6] = 48,
    };
    struct rng rng = rng_seed();
    uint8_t packet[4200], before[sizeof(packet)];

    for (int round = 0; round < 3000; round++) {
        enum roce_encap encap = ROCE_ENCAP_IB_LOCAL + rng_below(&rng, 5);
        bool udp = encap == ROCE_ENCAP_V2_IP4 || encap == ROCE_ENCAP_V2_IP6;
        size_t off =
            bth_off[encap] + (udp && rng_below(&rng, 4) == 0 ? 4 * rng_below(&rng, 11) : 0);
        size_t most = rng_below(&rng, 2) ? 160 : sizeof(packet);
        size_t len = off + ROCE_BTH_LEN + rng_below(&rng, (uint32_t)(most - off - ROCE_BTH_LEN));
        uint32_t icrc;

        rng_fill(&rng, packet, len);
        memcpy(before, packet, len);
        icrc = roce_icrc(encap, packet, off, len);
        EXPECT_EQ(roce_icrc_own(encap, packet, off, len), icrc);
        CU_ASSERT(memcmp(packet, before, len) == 0);
        packet[off + 4] ^= 0xFF; /* FECN, BECN */
        EXPECT_EQ(roce_icrc(encap, packet, off, len), icrc);
        packet[off + 5] ^= 0x01; /* destination QP */
        CU_ASSERT(roce_icrc_own(encap, packet, off, len) != icrc);
    }
}

static void icrc_of_nothing_is_zero(void)
{
    static const uint8_t p[64];

    uint8_t own[64] = {0};

    EXPECT_EQ(roce_icrc(ROCE_ENCAP_NONE, p, 0, 12), 0);
    EXPECT_EQ(roce_icrc_own(ROCE_ENCAP_NONE, own, 0, 12), 0);
}

SUITE("wire.icrc", TEST(crc_has_its_check_value), TEST(crc_back_ends_agree_on_any_split),
      TEST(crc_copies), TEST(crc_with_ones), TEST(ibta_sample_packet), TEST(scapy_ipv4_packet),
      TEST(scapy_ipv6_packet), TEST(connectx4_cnp), TEST(both_implementations_agree),
      TEST(flips_ipv4), TEST(flips_ipv6), TEST(flips_rocev1), TEST(flips_native_local),
      TEST(flips_native_global), TEST(what_routers_do_is_no_defect),
      TEST(own_packets_are_left_as_they_were), TEST(icrc_of_nothing_is_zero))
