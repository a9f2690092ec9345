/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests whole packets. Packets of every opcode, in every encapsulation, are built, parsed, and cut
 * at any byte. test_defect.c tests the defects.
 */
#include <stdlib.h>
#include "support/sample.h"
#include "support/suite.h"

#define CNT(a)      (sizeof(a) / sizeof((a)[0]))
#define BIT(defect) (UINT32_C(1) << ROCE_DEFECT_##defect)

static const enum roce_encap encaps[] = {ROCE_ENCAP_NONE, ROCE_ENCAP_IB_LOCAL, ROCE_ENCAP_IB_GLOBAL,
                                         ROCE_ENCAP_V1,   ROCE_ENCAP_V2_IP4,   ROCE_ENCAP_V2_IP6};

static bool on_ethernet(enum roce_encap encap)
{
    return encap >= ROCE_ENCAP_V1;
}

/* Returns the offset of the IP header or GRH in a frame: the sum of the lengths of the headers
 * before it. */
static unsigned net_off_of(enum roce_encap encap, unsigned vlan_cnt)
{
    return on_ethernet(encap) ? 14 + 4 * vlan_cnt : 0;
}

static unsigned bth_off_of(enum roce_encap encap, unsigned vlan_cnt)
{
    static const unsigned len[] = {
        [ROCE_ENCAP_NONE] = 0, [ROCE_ENCAP_IB_LOCAL] = 8, [ROCE_ENCAP_IB_GLOBAL] = 8 + 40,
        [ROCE_ENCAP_V1] = 40,  [ROCE_ENCAP_V2_IP4] = 28,  [ROCE_ENCAP_V2_IP6] = 48,
    };

    return net_off_of(encap, vlan_cnt) + len[encap];
}

/* ---- round trip ------------------------------------------------------------------------------ */

static void expect_same_headers(const struct roce_pkt *got, const struct roce_pkt *want)
{
    roce_hdr_set rest = (roce_hdr_set) ~(ROCE_HDR_BIT(ROCE_HDR_VLAN));

    EXPECT_EQ(got->present, want->present);
    for (unsigned h = 0; h < ROCE_HDR_CNT; h++) {
        enum roce_hdr hdr = (enum roce_hdr)h;
        uint8_t a[64], b[64];

        if (!(got->present & rest & ROCE_HDR_BIT(h)))
            continue;
        sample_hdr_build(got, hdr, a);
        sample_hdr_build(want, hdr, b);
        switch (hdr) { /* ignore the fields that roce_pkt_build() computes: lengths, checksum and
                        * pad count */
        case ROCE_HDR_IP4: memcpy(b + 2, a + 2, 2), memcpy(b + 10, a + 10, 2); break;
        case ROCE_HDR_IP6:
        case ROCE_HDR_GRH:
        case ROCE_HDR_UDP: memcpy(b + 4, a + 4, 2); break;
        case ROCE_HDR_LRH: roce_bits_put(b, 4, 5, 11, roce_bits_get(a, 4, 5, 11)); break;
        case ROCE_HDR_BTH: roce_bits_put(b, 1, 2, 2, got->bth.padcnt); break;
        default: break;
        }
        if (memcmp(a, b, roce_hdr_info(hdr)->len) != 0)
            suite_fail(__FILE__, __LINE__, "%s changed", roce_hdr_info(hdr)->name);
        CU_ASSERT(memcmp(a, got->frame + got->off[h], roce_hdr_info(hdr)->len) == 0);
    }
}

static void round_trip(struct rng *rng, enum roce_encap encap, uint8_t opcode, unsigned vlan_cnt,
                       uint32_t payload_len)
{
    static uint8_t payload[4096], frame[ROCE_FRAME_MAX], again[ROCE_FRAME_MAX];
    const struct roce_opcode *op = roce_opcode(opcode);
    unsigned bth_off = bth_off_of(encap, vlan_cnt);
    unsigned pad = -payload_len & 3;
    struct roce_pkt pkt, back;
    int len;

    rng_fill(rng, payload, payload_len);
    sample_pkt(&pkt, rng, encap, opcode, vlan_cnt, payload, payload_len);
    len = roce_pkt_build(&pkt, 0, frame, sizeof(frame));
    EXPECT_EQ(len,
              bth_off + op->len + payload_len + pad + 4 + (encap && !on_ethernet(encap) ? 2 : 0));
    EXPECT_EQ(roce_pkt_parse(&back, sample_link(encap), frame, (size_t)len, (size_t)len), 0);
    EXPECT_EQ(back.defects, op->kind == ROCE_KIND_RESERVED ? BIT(OPCODE) : 0);
    EXPECT_EQ(roce_pkt_dropped(&back), op->kind == ROCE_KIND_RESERVED);
    EXPECT_EQ(back.encap, encap);
    CU_ASSERT_PTR_EQUAL(back.op, op);
    EXPECT_EQ(back.net_off, net_off_of(encap, vlan_cnt));
    EXPECT_EQ(back.off[ROCE_HDR_BTH], bth_off);
    for (unsigned i = 0; i < op->hdr_cnt; i++)
        EXPECT_EQ(back.off[op->hdr[i]], bth_off + op->hdr_off[i]);
    EXPECT_EQ(back.payload_off, bth_off + op->len);
    EXPECT_EQ(back.payload_len, payload_len);
    EXPECT_EQ(back.payload_cap_len, payload_len);
    EXPECT_EQ(back.bth.padcnt, pad);
    CU_ASSERT(memcmp(back.pad, "\0\0\0", 3) == 0);
    EXPECT_EQ(back.payload != NULL, payload_len > 0);
    if (back.payload)
        CU_ASSERT(memcmp(back.payload, payload, payload_len) == 0);
    EXPECT_EQ(back.icrc_off, bth_off + op->len + payload_len + pad);
    EXPECT_EQ(back.end_off, len);
    EXPECT_EQ(roce_pkt_icrc_check(&back, NULL),
              encap == ROCE_ENCAP_NONE ? ROCE_ICRC_UNVERIFIED : ROCE_ICRC_GOOD);
    expect_same_headers(&back, &pkt);
    /* If the parsed packet is built again, the bytes must be the same. This must be true if
     * roce_pkt_build() computes the lengths, checksums, pad and ICRC, and if it copies them from
     * the struct. */
    EXPECT_EQ(roce_pkt_build(&back, 0, again, sizeof(again)), len);
    CU_ASSERT(memcmp(frame, again, (size_t)len) == 0);
    EXPECT_EQ(roce_pkt_build(&back,
                             ROCE_BUILD_KEEP_LEN | ROCE_BUILD_KEEP_CSUM | ROCE_BUILD_KEEP_PAD |
                                 ROCE_BUILD_KEEP_ICRC,
                             again, sizeof(again)),
              len);
    CU_ASSERT(memcmp(frame, again, (size_t)len) == 0);
}

static void every_opcode_is_built_and_parsed_back(void)
{
    static const uint32_t lens[] = {0, 1, 2, 3, 4, 61};
    struct rng rng = rng_seed();

    for (unsigned v = 0; v < 256; v++)
        for (size_t e = 0; e < CNT(encaps); e++)
            for (unsigned vlans = 0; vlans <= (on_ethernet(encaps[e]) ? 4u : 0u); vlans++)
                for (size_t l = 0; l < CNT(lens); l++)
                    round_trip(&rng, encaps[e], (uint8_t)v, vlans,
                               sample_payload_len((uint8_t)v, lens[l]));
}

static void longest_packet_fits_the_frame(void)
{
    struct rng rng = rng_seed();

    for (size_t e = 0; e < CNT(encaps); e++)
        round_trip(&rng, encaps[e], ROCE_OP_RD_WRITE_ONLY_IMM, on_ethernet(encaps[e]) ? 4 : 0,
                   4096);
}

/* ---- building a frame ------------------------------------------------------------------------ */

static void build_writes_only_within_the_buffer(void)
{
    static const uint8_t payload[5] = "1234";
    struct rng rng = rng_seed();

    for (size_t e = 0; e < CNT(encaps); e++) {
        struct roce_pkt pkt;
        uint8_t frame[256];
        int len;

        sample_pkt(&pkt, &rng, encaps[e], ROCE_OP_RC_WRITE_ONLY, 1, payload, sizeof(payload));
        len = roce_pkt_build(&pkt, 0, frame, sizeof(frame));
        CU_ASSERT_FATAL(len > 0);
        for (int cap = 0; cap <= len; cap++) {
            uint8_t *exact = malloc(cap ? (size_t)cap : 1);

            EXPECT_EQ(roce_pkt_build(&pkt, 0, exact, (size_t)cap),
                      cap < len ? ROCE_ERR_NOSPACE : len);
            if (cap == len)
                CU_ASSERT(memcmp(exact, frame, (size_t)len) == 0);
            free(exact);
        }
    }
}

static void build_refuses_invalid_packets(void)
{
    static uint8_t big[70000], frame[80000];
    struct rng rng = rng_of(1);
    struct roce_pkt pkt;

    for (size_t e = 0; e < CNT(encaps); e++) {
        sample_pkt(&pkt, &rng, encaps[e], ROCE_OP_RC_SEND_ONLY, 0, big, 65536);
        EXPECT_EQ(roce_pkt_build(&pkt, 0, frame, sizeof(frame)), ROCE_ERR_INVALID);
        sample_pkt(&pkt, &rng, encaps[e], ROCE_OP_RC_SEND_ONLY, 0, big, 65535);
        if (encaps[e] != ROCE_ENCAP_NONE)
            EXPECT_EQ(roce_pkt_build(&pkt, 0, frame, sizeof(frame)), ROCE_ERR_INVALID);
        pkt.payload = NULL;
        pkt.payload_len = 1;
        EXPECT_EQ(roce_pkt_build(&pkt, 0, frame, sizeof(frame)), ROCE_ERR_INVALID);
    }
    sample_pkt(&pkt, &rng, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0, NULL, 0);
    pkt.vlan_cnt = ROCE_VLAN_MAX + 1;
    EXPECT_EQ(roce_pkt_build(&pkt, 0, frame, sizeof(frame)), ROCE_ERR_INVALID);
    pkt.vlan_cnt = 0;
    pkt.ip4_options_len = 44;
    EXPECT_EQ(roce_pkt_build(&pkt, 0, frame, sizeof(frame)), ROCE_ERR_INVALID);
    pkt.ip4_options_len = 3;
    EXPECT_EQ(roce_pkt_build(&pkt, 0, frame, sizeof(frame)), ROCE_ERR_INVALID);
}

/* roce_pkt_build() must copy the fields that the flags select from struct roce_pkt, even if they
 * are wrong. */
static void build_keeps_selected_fields(void)
{
    static const uint8_t payload[2] = {'x', 'y'};
    struct rng rng = rng_of(1);
    struct roce_pkt pkt;
    uint8_t frame[256];
    int len;

    sample_pkt(&pkt, &rng, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY, 0, payload, 2);
    pkt.ip4.len = 0x1234;
    pkt.ip4.ihl = 9;
    pkt.ip4.csum = 0x5678;
    pkt.udp.len = 0x9ABC;
    pkt.bth.padcnt = 3;
    memcpy(pkt.pad, "\x01\x02\x03", 3);
    pkt.icrc = 0xDDCCBBAA;
    len = roce_pkt_build(&pkt,
                         ROCE_BUILD_KEEP_LEN | ROCE_BUILD_KEEP_CSUM | ROCE_BUILD_KEEP_PAD |
                             ROCE_BUILD_KEEP_ICRC,
                         frame, sizeof(frame));
    EXPECT_EQ(len, 42 + 12 + 2 + 3 + 4);
    EXPECT_EQ(frame[14], 0x49);
    CU_ASSERT(memcmp(frame + 16, "\x12\x34", 2) == 0);
    CU_ASSERT(memcmp(frame + 24, "\x56\x78", 2) == 0);
    CU_ASSERT(memcmp(frame + 38, "\x9A\xBC", 2) == 0);
    CU_ASSERT(memcmp(frame + 54, "xy\x01\x02\x03\xAA\xBB\xCC\xDD", 9) == 0);
}

/* ---- captures cut anywhere, frames that end anywhere ----------------------------------------- */

static void cut_capture_keeps_the_captured_headers(void)
{
    static const uint8_t payload[21] = "a payload with pad..";
    struct rng rng = rng_seed();

    for (size_t e = 0; e < CNT(encaps); e++) {
        unsigned bth_off = bth_off_of(encaps[e], on_ethernet(encaps[e]));
        struct roce_pkt model, whole;
        uint8_t frame[256];
        int len;

        sample_pkt(&model, &rng, encaps[e], ROCE_OP_RC_WRITE_ONLY_IMM, 1, payload, sizeof(payload));
        len = roce_pkt_build(&model, 0, frame, sizeof(frame));
        CU_ASSERT_FATAL(len > 0);
        EXPECT_EQ(roce_pkt_parse(&whole, sample_link(encaps[e]), frame, (size_t)len, (size_t)len),
                  0);
        for (size_t cap = 0; cap < (size_t)len; cap++) {
            uint8_t *exact = sample_exact(frame, cap);
            struct roce_pkt pkt;
            roce_hdr_set want = 0;
            size_t payload_cap = 0;

            EXPECT_EQ(roce_pkt_parse(&pkt, sample_link(encaps[e]), exact, cap, (size_t)len),
                      cap < bth_off + 12 ? ROCE_ERR_CUT : ROCE_OK);
            EXPECT_EQ(pkt.defects, BIT(CUT));
            for (unsigned h = 0; h < ROCE_HDR_CNT; h++)
                if (roce_pkt_has(&whole, (enum roce_hdr)h) &&
                    whole.off[h] + roce_hdr_info((enum roce_hdr)h)->len <= cap)
                    want |= ROCE_HDR_BIT(h);
            EXPECT_EQ(pkt.present, want);
            if (cap > whole.payload_off)
                payload_cap = cap - whole.payload_off;
            if (payload_cap > sizeof(payload))
                payload_cap = sizeof(payload);
            EXPECT_EQ(pkt.payload_cap_len, payload_cap);
            EXPECT_EQ(pkt.payload != NULL, payload_cap > 0);
            EXPECT_EQ(pkt.op != NULL, cap >= bth_off + 12);
            if (cap >= bth_off + 12) {
                EXPECT_EQ(pkt.payload_len, sizeof(payload));
                EXPECT_EQ(pkt.payload_off, whole.payload_off);
                EXPECT_EQ(pkt.icrc_off, whole.icrc_off);
                EXPECT_EQ(pkt.bth.psn, model.bth.psn);
            }
            EXPECT_EQ(pkt.icrc, cap >= whole.icrc_off + 4 ? whole.icrc : 0);
            EXPECT_EQ(roce_pkt_icrc_check(&pkt, NULL), cap >= whole.icrc_off + 4 && encaps[e]
                                                           ? ROCE_ICRC_GOOD
                                                           : ROCE_ICRC_UNVERIFIED);
            free(exact);
        }
    }
}

/* Bytes that the capture does not contain must not cause a defect. Packets of every opcode are cut,
 * with and without payload, and also packets that may be of RD or of DC (wire/dc.h). */
static void cut_capture_has_no_additional_defects(void)
{
    static const uint32_t lens[] = {0, 4, 92};
    static const uint8_t payload[92];
    struct rng rng = rng_seed();

    for (unsigned n = 0; n < 256 * CNT(lens) * 2; n++) {
        uint8_t opcode = (uint8_t)n, *exact;
        struct roce_pkt model, whole, pkt;
        uint8_t frame[256];
        int len;

        sample_pkt(&model, &rng, ROCE_ENCAP_V2_IP4, opcode, 0, payload, lens[n / 256 % CNT(lens)]);
        model.rdeth.resv8 = n / 256 / CNT(lens) ? 1 : 0;
        len = roce_pkt_build(&model, 0, frame, sizeof(frame));
        CU_ASSERT_FATAL(len > 0);
        roce_pkt_parse(&whole, ROCE_LINK_ETHERNET, frame, (size_t)len, (size_t)len);
        for (size_t cap = 0; cap < (size_t)len; cap++) {
            exact = sample_exact(frame, cap);
            roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, exact, cap, (size_t)len);
            EXPECT_EQ(pkt.defects & ~whole.defects, BIT(CUT));
            free(exact);
        }
    }
}

/* A frame that was too short on the wire (not only in the capture) must be an error, or have a
 * defect for which a receiver drops it. The parser must not read beyond its end, and all offsets
 * must be inside it. */
static void short_frame_is_never_accepted(void)
{
    static const uint8_t payload[21] = "a payload with pad..";
    struct rng rng = rng_seed();

    for (size_t e = 0; e < CNT(encaps); e++) {
        struct roce_pkt model, pkt;
        uint8_t frame[256];
        int len;

        sample_pkt(&model, &rng, encaps[e], ROCE_OP_RC_WRITE_ONLY, 1, payload, sizeof(payload));
        len = roce_pkt_build(&model, 0, frame, sizeof(frame));
        CU_ASSERT_FATAL(len > 0);
        for (size_t end = 0; end < (size_t)len - (encaps[e] && !on_ethernet(encaps[e]) ? 2 : 0);
             end++) {
            uint8_t *exact = sample_exact(frame, end);
            int error = roce_pkt_parse(&pkt, sample_link(encaps[e]), exact, end, end);

            CU_ASSERT(error == ROCE_OK || error == ROCE_ERR_MALFORMED ||
                      (end == 0 && error == ROCE_ERR_NOT_ROCE));
            CU_ASSERT_FALSE(roce_pkt_defect(&pkt, ROCE_DEFECT_CUT));
            /* without headers before the BTH, the packet has no length field, so the parser cannot
             * know that it is too short */
            if (encaps[e] != ROCE_ENCAP_NONE)
                CU_ASSERT(error || roce_pkt_dropped(&pkt));
            CU_ASSERT(pkt.end_off <= end);
            if (!error)
                CU_ASSERT(roce_pkt_icrc_check(&pkt, NULL) != ROCE_ICRC_GOOD);
            free(exact);
        }
    }
}

/* Random bytes, some with a valid start: the parser must set all members, and must not read outside
 * its input. */
static void random_bytes_are_read_in_bounds(void)
{
    static const enum roce_link links[] = {ROCE_LINK_ETHERNET, ROCE_LINK_SLL, ROCE_LINK_SLL2,
                                           ROCE_LINK_IP,       ROCE_LINK_IB,  ROCE_LINK_BTH};
    struct rng rng = rng_seed();

    for (int round = 0; round < 20000; round++) {
        size_t len = rng_below(&rng, 140), more = rng_below(&rng, 3) ? 0 : rng_below(&rng, 2000);
        enum roce_link link = links[rng_below(&rng, CNT(links))];
        uint8_t *p = malloc(len + 1), *exact;
        struct roce_pkt pkt;

        rng_fill(&rng, p, len);
        if (link == ROCE_LINK_ETHERNET && len > 40 && rng_below(&rng, 2)) {
            memcpy(p + 12, rng_below(&rng, 2) ? "\x08\x00\x45" : "\x86\xDD\x60", 3);
            p[23] = 17;
            p[20] = 17;
            memcpy(p + 36, "\x12\xB7", 2);
        }
        exact = sample_exact(p, len);
        memset(&pkt, 0xA5, sizeof(pkt));
        roce_pkt_parse(&pkt, link, exact, len, len + more);
        CU_ASSERT(pkt.payload_cap_len <= pkt.payload_len);
        CU_ASSERT(pkt.end_off <= len + more);
        EXPECT_EQ(pkt.payload != NULL, pkt.payload_cap_len > 0);
        if (pkt.payload)
            CU_ASSERT(pkt.payload >= exact && pkt.payload + pkt.payload_cap_len <= exact + len);
        roce_pkt_icrc_check(&pkt, NULL);
        free(exact);
        free(p);
    }
}

static void capture_longer_than_the_frame_is_refused(void)
{
    uint8_t frame[60] = {0};
    struct roce_pkt pkt;

    EXPECT_EQ(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, 60, 59), ROCE_ERR_INVALID);
    EXPECT_EQ(pkt.defects, 0);
}

static void init_sets_what_the_specification_fixes(void)
{
    struct roce_pkt pkt;

    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY);
    EXPECT_EQ(pkt.eth.type, 0x0800);
    EXPECT_EQ(pkt.ip4.version, 4);
    EXPECT_EQ(pkt.ip4.ihl, 5);
    EXPECT_EQ(pkt.ip4.df, 1);
    EXPECT_EQ(pkt.ip4.proto, 17);
    EXPECT_EQ(pkt.ip4.ttl, 64);
    EXPECT_EQ(pkt.udp.dport, 4791);
    EXPECT_EQ(pkt.udp.csum, 0);
    EXPECT_EQ(pkt.bth.opcode, 4);
    EXPECT_EQ(pkt.bth.migreq, 1);
    EXPECT_EQ(pkt.bth.pkey, 0xFFFF);
    EXPECT_EQ(pkt.bth.tver, 0);
    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP6, ROCE_OP_RC_SEND_ONLY);
    EXPECT_EQ(pkt.eth.type, 0x86DD);
    EXPECT_EQ(pkt.ip6.version, 6);
    EXPECT_EQ(pkt.ip6.next, 17);
    EXPECT_EQ(pkt.ip6.hop, 64);
    roce_pkt_init(&pkt, ROCE_ENCAP_V1, ROCE_OP_RC_SEND_ONLY);
    EXPECT_EQ(pkt.eth.type, 0x8915);
    EXPECT_EQ(pkt.grh.ipver, 6);
    EXPECT_EQ(pkt.grh.next, 0x1B);
    roce_pkt_init(&pkt, ROCE_ENCAP_IB_LOCAL, ROCE_OP_RC_SEND_ONLY);
    EXPECT_EQ(pkt.lrh.lnh, 2);
    CU_ASSERT_FALSE(roce_pkt_has(&pkt, ROCE_HDR_ETH));
    roce_pkt_init(&pkt, ROCE_ENCAP_IB_GLOBAL, ROCE_OP_RC_SEND_ONLY);
    EXPECT_EQ(pkt.lrh.lnh, 3);
    EXPECT_EQ(pkt.grh.next, 0x1B);
}

/* A mirror port may truncate frames although the capture file does not say so. The original length
 * must then be found from the lengths in the IP and UDP headers. */
static void unrecorded_cut_is_detected_by_the_lengths(void)
{
    static uint8_t payload[4096], frame[ROCE_FRAME_MAX];
    static const enum roce_encap ips[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};
    struct rng rng = rng_seed();
    struct roce_pkt p;

    for (unsigned i = 0; i < 2; i++) {
        size_t full, len;
        unsigned udp;

        sample_pkt(&p, &rng, ips[i], ROCE_OP_RC_WRITE_ONLY, 1, payload, 1000);
        full = (size_t)roce_pkt_build(&p, 0, frame, sizeof(frame));
        EXPECT_EQ(roce_pkt_parse_captured(&p, ROCE_LINK_ETHERNET, frame, full, full), 0);
        EXPECT_EQ(p.defects, 0);
        udp = p.off[ROCE_HDR_UDP];
        for (len = p.payload_off; len < full; len++) {
            EXPECT_EQ(roce_pkt_parse_captured(&p, ROCE_LINK_ETHERNET, frame, len, len), 0);
            EXPECT_EQ(p.defects, BIT(CUT));
            EXPECT_EQ(p.wire_len, full);
            EXPECT_EQ(p.payload_len, 1000);
            CU_ASSERT(p.payload_cap_len <= len - p.payload_off);
            EXPECT_EQ(roce_pkt_icrc_check(&p, NULL), ROCE_ICRC_UNVERIFIED);
        }
        /* if the IP and UDP lengths contradict each other, the frame must not count as truncated */
        frame[udp + 4] ^= 1;
        roce_pkt_parse_captured(&p, ROCE_LINK_ETHERNET, frame, full - 8, full - 8);
        CU_ASSERT(roce_pkt_defect(&p, ROCE_DEFECT_IP_LEN));
        frame[udp + 4] ^= 1;
        /* If the last 4 bytes are a correct ICRC, the frame must count as complete, with wrong
         * lengths in its headers. */
        EXPECT_EQ(roce_pkt_parse(&p, ROCE_LINK_ETHERNET, frame, full, full), 0);
        p.ip4.len = (uint16_t)(p.ip4.len + 8);
        p.ip6.len = (uint16_t)(p.ip6.len + 8);
        p.udp.len = (uint16_t)(p.udp.len + 8);
        p.payload = payload;
        full = (size_t)roce_pkt_build(&p, ROCE_BUILD_KEEP_LEN, frame, sizeof(frame));
        roce_pkt_parse_captured(&p, ROCE_LINK_ETHERNET, frame, full, full);
        CU_ASSERT(roce_pkt_defect(&p, ROCE_DEFECT_IP_LEN));
        EXPECT_EQ(p.wire_len, full);
    }
}

SUITE("wire.pkt", TEST(every_opcode_is_built_and_parsed_back), TEST(longest_packet_fits_the_frame),
      TEST(build_writes_only_within_the_buffer), TEST(build_refuses_invalid_packets),
      TEST(build_keeps_selected_fields), TEST(cut_capture_keeps_the_captured_headers),
      TEST(cut_capture_has_no_additional_defects), TEST(short_frame_is_never_accepted),
      TEST(random_bytes_are_read_in_bounds), TEST(unrecorded_cut_is_detected_by_the_lengths),
      TEST(capture_longer_than_the_frame_is_refused), TEST(init_sets_what_the_specification_fixes))
