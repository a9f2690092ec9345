/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests that the parser finds the BTH after every kind of link header and network header, and that
 * it distinguishes frames of other protocols from malformed RoCE frames.
 */
#include <stddef.h>
#include <stdlib.h>
#include "support/sample.h"
#include "support/suite.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

struct built {
    struct roce_pkt model;
    uint8_t frame[512];
    size_t len;
};

static void build(struct built *b, enum roce_encap encap, unsigned vlan_cnt)
{
    static const uint8_t payload[6] = "abcde";
    struct rng rng = rng_of(encap + 10u * vlan_cnt);
    int len;

    sample_pkt(&b->model, &rng, encap, ROCE_OP_RC_SEND_ONLY, vlan_cnt, payload, sizeof(payload));
    len = roce_pkt_build(&b->model, 0, b->frame, sizeof(b->frame));
    CU_ASSERT_FATAL(len > 0);
    b->len = (size_t)len;
}

static void build_op(struct built *b, uint8_t opcode, struct rng *rng)
{
    static const uint8_t payload[16] = "abcdefghijklmno";
    uint32_t payload_len = sample_payload_len(opcode, rng_below(rng, sizeof(payload)));
    int len;

    sample_pkt(&b->model, rng, ROCE_ENCAP_V2_IP4, opcode, 0, payload, payload_len);
    len = roce_pkt_build(&b->model, 0, b->frame, sizeof(b->frame));
    CU_ASSERT_FATAL(len > 0);
    b->len = (size_t)len;
}

static int parse(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame, size_t len)
{
    return roce_pkt_parse(pkt, link, frame, len, len);
}

static void vlan_stacks_up_to_four(void)
{
    for (unsigned cnt = 0; cnt <= ROCE_VLAN_MAX; cnt++) {
        struct roce_pkt pkt;
        struct built b;

        build(&b, ROCE_ENCAP_V2_IP4, cnt);
        EXPECT_EQ(parse(&pkt, ROCE_LINK_ETHERNET, b.frame, b.len), 0);
        EXPECT_EQ(pkt.vlan_cnt, cnt);
        EXPECT_EQ(pkt.net_off, 14 + 4 * cnt);
        EXPECT_EQ(roce_pkt_has(&pkt, ROCE_HDR_VLAN), cnt > 0);
        if (cnt)
            EXPECT_EQ(pkt.off[ROCE_HDR_VLAN], 14);
        for (unsigned i = 0; i < cnt; i++) {
            EXPECT_EQ(pkt.vlan[i].vid, b.model.vlan[i].vid);
            EXPECT_EQ(pkt.vlan[i].pcp, b.model.vlan[i].pcp);
            EXPECT_EQ(pkt.vlan[i].type, b.model.vlan[i].type);
        }
    }
}

static void five_tags_are_not_roce(void)
{
    struct roce_pkt pkt;
    struct built b;

    build(&b, ROCE_ENCAP_V2_IP4, 4);
    memmove(b.frame + 18, b.frame + 14, b.len - 14);
    EXPECT_EQ(parse(&pkt, ROCE_LINK_ETHERNET, b.frame, b.len + 4), ROCE_ERR_NOT_ROCE);
    CU_ASSERT_PTR_NULL(pkt.op);
}

/* The same IP packet follows an Ethernet header, a Linux cooked header of version 1 or 2, or no
 * link header. The parser must find the BTH after each of them. */
static void every_link_leads_to_the_bth(void)
{
    static const struct {
        enum roce_link link;
        unsigned len, proto_off;
    } links[] = {
        {ROCE_LINK_ETHERNET, 14, 12},
        {ROCE_LINK_SLL, 16, 14},
        {ROCE_LINK_SLL2, 20, 0},
        {ROCE_LINK_IP, 0, 0},
    };
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};

    for (size_t e = 0; e < CNT(encaps); e++)
        for (size_t l = 0; l < CNT(links); l++) {
            unsigned head = links[l].len;
            uint8_t frame[512] = {0};
            struct roce_pkt pkt;
            struct built b;

            if (links[l].link == ROCE_LINK_IP && encaps[e] == ROCE_ENCAP_V1)
                continue; /* not an IP packet */
            build(&b, encaps[e], 0);
            if (head)
                memcpy(frame + links[l].proto_off, b.frame + 12, 2);
            memcpy(frame + head, b.frame + 14, b.len - 14);
            EXPECT_EQ(parse(&pkt, links[l].link, frame, b.len - 14 + head), 0);
            EXPECT_EQ(pkt.encap, encaps[e]);
            EXPECT_EQ(pkt.net_off, head);
            EXPECT_EQ(pkt.defects, 0);
            EXPECT_EQ(pkt.bth.psn, b.model.bth.psn);
            EXPECT_EQ(pkt.payload_len, 6);
            EXPECT_EQ(roce_pkt_has(&pkt, ROCE_HDR_ETH), links[l].link == ROCE_LINK_ETHERNET);
            EXPECT_EQ(roce_pkt_icrc_check(&pkt, NULL), ROCE_ICRC_GOOD);
        }
}

static void native_links_and_bare_bth(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_IB_LOCAL, ROCE_ENCAP_IB_GLOBAL,
                                             ROCE_ENCAP_NONE};

    for (size_t e = 0; e < CNT(encaps); e++) {
        struct roce_pkt pkt;
        struct built b;

        build(&b, encaps[e], 0);
        EXPECT_EQ(parse(&pkt, sample_link(encaps[e]), b.frame, b.len), 0);
        EXPECT_EQ(pkt.encap, encaps[e]);
        EXPECT_EQ(pkt.defects, 0);
        EXPECT_EQ(pkt.end_off, b.len);
        EXPECT_EQ(pkt.icrc_off, b.len - (encaps[e] == ROCE_ENCAP_NONE ? 4 : 6));
        EXPECT_EQ(roce_pkt_icrc_check(&pkt, NULL),
                  encaps[e] == ROCE_ENCAP_NONE ? ROCE_ICRC_UNVERIFIED : ROCE_ICRC_GOOD);
    }
}

/* A native InfiniBand packet without VCRC, as some adapters deliver it, must be parsed without a
 * defect. */
static void native_link_without_vcrc(void)
{
    struct roce_pkt pkt;
    struct built b;

    build(&b, ROCE_ENCAP_IB_LOCAL, 0);
    EXPECT_EQ(parse(&pkt, ROCE_LINK_IB, b.frame, b.len - 2), 0);
    EXPECT_EQ(pkt.defects, 0);
    EXPECT_EQ(pkt.vcrc, 0);
    EXPECT_EQ(roce_pkt_icrc_check(&pkt, NULL), ROCE_ICRC_GOOD);
}

/* Returns the VCRC of chapter 7, computed one bit at a time with a shift register for the
 * polynomial as the specification prints it: x^16 + x^12 + x^3 + x + 1. */
static uint16_t vcrc_by_bits(const uint8_t *p, size_t len)
{
    uint16_t reg = 0xFFFF, out = 0;

    for (size_t i = 0; i < len * 8; i++) {
        unsigned in = p[i / 8] >> (i % 8) & 1;
        bool feed = (reg >> 15 ^ in) & 1;

        reg = (uint16_t)(reg << 1 ^ (feed ? 0x100B : 0));
    }
    for (int i = 0; i < 16; i++)
        out |= (uint16_t)((reg >> i & 1) << (15 - i));
    return (uint16_t)~out;
}

static void vcrc_is_its_polynomial(void)
{
    struct rng rng = rng_seed();
    struct built b;

    for (int round = 0; round < 200; round++) {
        uint8_t p[200];
        size_t len = rng_below(&rng, sizeof(p));

        rng_fill(&rng, p, sizeof(p));
        EXPECT_EQ(roce_vcrc(p, len), vcrc_by_bits(p, len));
    }
    /* The VCRC follows the ICRC. Like the ICRC, it is stored least significant byte first. */
    build(&b, ROCE_ENCAP_IB_GLOBAL, 0);
    EXPECT_EQ(b.frame[b.len - 2] | b.frame[b.len - 1] << 8, vcrc_by_bits(b.frame, b.len - 2));
}

static void addresses_as_gids(void)
{
    static const uint8_t zero[16];
    uint8_t src[16], dst[16];
    struct roce_pkt pkt;
    struct built b;

    build(&b, ROCE_ENCAP_V2_IP4, 0);
    parse(&pkt, ROCE_LINK_ETHERNET, b.frame, b.len);
    roce_pkt_addr(&pkt, src, dst);
    CU_ASSERT(memcmp(src, "\0\0\0\0\0\0\0\0\0\0\xFF\xFF", 12) == 0);
    CU_ASSERT(memcmp(src + 12, b.model.ip4.src, 4) == 0);
    CU_ASSERT(memcmp(dst + 12, b.model.ip4.dst, 4) == 0);
    build(&b, ROCE_ENCAP_V2_IP6, 0);
    parse(&pkt, ROCE_LINK_ETHERNET, b.frame, b.len);
    roce_pkt_addr(&pkt, src, dst);
    CU_ASSERT(memcmp(src, b.model.ip6.src, 16) == 0);
    CU_ASSERT(memcmp(dst, b.model.ip6.dst, 16) == 0);
    build(&b, ROCE_ENCAP_V1, 0);
    parse(&pkt, ROCE_LINK_ETHERNET, b.frame, b.len);
    roce_pkt_addr(&pkt, src, dst);
    CU_ASSERT(memcmp(src, b.model.grh.sgid, 16) == 0);
    CU_ASSERT(memcmp(dst, b.model.grh.dgid, 16) == 0);
    build(&b, ROCE_ENCAP_IB_LOCAL, 0);
    parse(&pkt, ROCE_LINK_IB, b.frame, b.len);
    roce_pkt_addr(&pkt, src, dst);
    CU_ASSERT(memcmp(src, zero, 16) == 0 && memcmp(dst, zero, 16) == 0);
}

/* A frame of another protocol must have neither a RoCE defect nor a BTH. */
static void other_protocols_are_not_roce(void)
{
    struct roce_pkt pkt;
    struct built b;

#define EXPECT_OTHER(link, change)                                                                 \
    do {                                                                                           \
        change;                                                                                    \
        EXPECT_EQ(parse(&pkt, link, b.frame, b.len), ROCE_ERR_NOT_ROCE);                           \
        CU_ASSERT_PTR_NULL(pkt.op);                                                                \
        CU_ASSERT_FALSE(roce_pkt_has(&pkt, ROCE_HDR_BTH));                                         \
    } while (0)

    build(&b, ROCE_ENCAP_V2_IP4, 0);
    EXPECT_OTHER(ROCE_LINK_ETHERNET, b.frame[13] = 0x06); /* Ethernet type ARP */
    build(&b, ROCE_ENCAP_V2_IP4, 0);
    EXPECT_OTHER(ROCE_LINK_ETHERNET, b.frame[23] = 6); /* IP protocol TCP */
    build(&b, ROCE_ENCAP_V2_IP4, 0);
    EXPECT_OTHER(ROCE_LINK_ETHERNET, b.frame[37] ^= 1); /* another UDP port */
    build(&b, ROCE_ENCAP_V2_IP4, 0);
    EXPECT_OTHER(ROCE_LINK_ETHERNET, b.frame[21] = 1); /* a later fragment, which has no UDP
                                                        * header */
    build(&b, ROCE_ENCAP_V2_IP6, 0);
    EXPECT_OTHER(ROCE_LINK_ETHERNET, b.frame[20] = 58); /* ICMPv6 */
    build(&b, ROCE_ENCAP_V2_IP6, 0);
    EXPECT_OTHER(ROCE_LINK_IP, (void)0); /* an Ethernet frame parsed as an IP packet: the version in
                                          * its first byte is neither 4 nor 6 */
    build(&b, ROCE_ENCAP_IB_LOCAL, 0);
    EXPECT_OTHER(ROCE_LINK_IB, b.frame[1] &= 0xFC); /* link next header: raw */
    build(&b, ROCE_ENCAP_IB_LOCAL, 0);
    EXPECT_OTHER(ROCE_LINK_IB, b.frame[1] = (uint8_t)((b.frame[1] & 0xFC) | 1)); /* LRH.LNH (link
                                                                                  * next header) of
                                                                                  * a raw IPv6
                                                                                  * packet */
#undef EXPECT_OTHER
}

/* The parser must skip IPv6 extension headers before UDP, report their presence as a defect, and
 * find the BTH (CA17-16, R009). */
static void ipv6_extension_headers_are_walked(void)
{
    /* next header UDP, length 0 (8 bytes), padding option */
    static const uint8_t ext[8] = {17, 0, 1, 4, 0, 0, 0, 0};
    static const uint8_t kinds[] = {0, 43, 44, 60};

    for (size_t k = 0; k < CNT(kinds); k++) {
        uint32_t want = UINT32_C(1) << ROCE_DEFECT_IP6_EXT;
        struct roce_pkt pkt;
        uint8_t frame[512];
        struct built b;

        build(&b, ROCE_ENCAP_V2_IP6, 0);
        memcpy(frame, b.frame, 54);
        memcpy(frame + 54, ext, 8);
        if (kinds[k] == 44) {
            memcpy(frame + 54, "\x11\0\0\1\0\0\0\7", 8); /* fragment header of the first of several
                                                          * fragments */
            want |= UINT32_C(1) << ROCE_DEFECT_IP_FRAGMENT;
        }
        memcpy(frame + 62, b.frame + 54, b.len - 54);
        frame[20] = kinds[k];
        frame[19] = (uint8_t)(frame[19] + 8);
        EXPECT_EQ(parse(&pkt, ROCE_LINK_ETHERNET, frame, b.len + 8), 0);
        EXPECT_EQ(pkt.defects, want);
        EXPECT_EQ(pkt.off[ROCE_HDR_UDP], 62);
        EXPECT_EQ(pkt.bth.psn, b.model.bth.psn);
    }
}

/* Checks that two results of the parser agree, except for the VLAN tag that only `tagged` has. */
static void expect_same(const struct roce_pkt *plain, const struct roce_pkt *tagged)
{
    EXPECT_EQ(plain->encap, tagged->encap);
    EXPECT_EQ(plain->present | ROCE_HDR_BIT(ROCE_HDR_VLAN), tagged->present);
    EXPECT_EQ(plain->defects, tagged->defects);
    if (roce_pkt_has(plain, ROCE_HDR_IP4)) {
        EXPECT_EQ(plain->net_off + ROCE_VLAN_LEN, tagged->net_off);
        EXPECT_EQ(plain->off[ROCE_HDR_IP4] + ROCE_VLAN_LEN, tagged->off[ROCE_HDR_IP4]);
    }
    if (roce_pkt_has(plain, ROCE_HDR_UDP))
        EXPECT_EQ(plain->off[ROCE_HDR_UDP] + ROCE_VLAN_LEN, tagged->off[ROCE_HDR_UDP]);
    CU_ASSERT(memcmp(&plain->ip4, &tagged->ip4, sizeof(plain->ip4)) == 0);
    CU_ASSERT(memcmp(&plain->udp, &tagged->udp, sizeof(plain->udp)) == 0);
    CU_ASSERT(memcmp(&plain->bth, &tagged->bth, sizeof(plain->bth)) == 0);
    EXPECT_EQ(plain->ip4_options_len, tagged->ip4_options_len);
    EXPECT_EQ(plain->payload_len, tagged->payload_len);
    EXPECT_EQ(plain->payload_cap_len, tagged->payload_cap_len);
    EXPECT_EQ(plain->icrc, tagged->icrc);
    if (plain->icrc_off)
        EXPECT_EQ(plain->icrc_off + ROCE_VLAN_LEN, tagged->icrc_off);
}

/* Checks that two models of packets with a BTH are equal, except for the VLAN tag that only
 * `tagged` has. */
static void expect_equal(const struct roce_pkt *plain, struct roce_pkt tagged)
{
    ptrdiff_t moved = tagged.frame + ROCE_VLAN_LEN - plain->frame;

    tagged.frame = plain->frame;
    tagged.cap_len -= ROCE_VLAN_LEN;
    tagged.wire_len -= ROCE_VLAN_LEN;
    tagged.icrc_off -= ROCE_VLAN_LEN;
    tagged.end_off -= ROCE_VLAN_LEN;
    tagged.net_off -= ROCE_VLAN_LEN;
    if (tagged.payload)
        tagged.payload -= moved;
    if (tagged.payload_off)
        tagged.payload_off -= ROCE_VLAN_LEN;
    for (unsigned i = 0; i < ROCE_HDR_CNT; i++)
        if (tagged.off[i])
            tagged.off[i] -= ROCE_VLAN_LEN;
    tagged.off[ROCE_HDR_VLAN] = 0;
    tagged.present &= ~ROCE_HDR_BIT(ROCE_HDR_VLAN);
    tagged.eth.type = tagged.vlan[0].type;
    memset(tagged.vlan, 0, sizeof(tagged.vlan));
    tagged.vlan_cnt = 0;
    CU_ASSERT(memcmp(plain, &tagged, sizeof(tagged)) == 0);
}

/* Parses the packet of `plain` with the fast parser into *again, which contains the result of an
 * earlier packet. No value of the earlier packet may remain in *again. Returns whether the fast
 * parser accepted the packet. */
static bool expect_equal_again(struct roce_pkt *again, const struct roce_pkt *plain)
{
    struct roce_pkt before = *again, now;

    if (!roce_pkt_parse_fast(again, ROCE_LINK_ETHERNET, plain->frame, plain->cap_len,
                             plain->wire_len)) {
        CU_ASSERT(memcmp(again, &before, sizeof(before)) == 0);
        return false;
    }
    now = *again;
    now.parsed_fast = false;
    CU_ASSERT(memcmp(&now, plain, sizeof(now)) == 0);
    return true;
}

/* The fast parser accepts only frames without a VLAN tag. So each random packet is parsed without a
 * tag (fast) and with a tag (slow): the results must be the same. Some packets have a wrong byte,
 * are truncated, or have trailing bytes. */
static void plain_frames_are_read_as_tagged_ones(void)
{
    struct rng rng = rng_seed();
    struct roce_pkt again = {0};
    unsigned usual = 0, quick = 0;

    for (unsigned i = 0; i < 20000; i++) {
        struct roce_pkt plain, tagged;
        uint8_t frame[600] = {0};
        uint8_t other[600];
        struct built b;
        size_t len, cap;
        int rc;

        build_op(&b, (uint8_t)rng_below(&rng, 256), &rng);
        memcpy(frame, b.frame, b.len);
        if (rng_below(&rng, 4)) /* change no byte of the Ethernet header, because the VLAN tag moves
                                 * this header */
            frame[14 + rng_below(&rng, 52)] ^= (uint8_t)(1u << rng_below(&rng, 8));
        if (rng_below(&rng, 2))
            roce_ip4_set_checksum(frame + 14, 20);
        len = b.len + (rng_below(&rng, 4) ? 0 : rng_below(&rng, 12));
        if (rng_below(&rng, 4) == 0)
            len -= rng_below(&rng, (uint32_t)b.len - 14);
        cap = rng_below(&rng, 8) ? len : 14 + rng_below(&rng, (uint32_t)len - 13);
        memcpy(other, frame, 12);
        memcpy(other + 12, "\x81\0\0\1", 4);
        memcpy(other + 16, frame + 12, len - 12);
        rc = roce_pkt_parse(&plain, ROCE_LINK_ETHERNET, frame, cap, len);
        EXPECT_EQ(rc, roce_pkt_parse(&tagged, ROCE_LINK_ETHERNET, other, cap + 4, len + 4));
        expect_same(&plain, &tagged);
        if (rc == 0)
            expect_equal(&plain, tagged);
        usual += rc == 0 && plain.defects == 0;
        if (rng_below(&rng, 8) == 0)
            again = tagged;
        quick += expect_equal_again(&again, &plain);
    }
    CU_ASSERT(usual > 1000 && usual < 15000);
    CU_ASSERT(quick > usual / 2 && quick < 15000);
}

SUITE("wire.envelope", TEST(vlan_stacks_up_to_four), TEST(five_tags_are_not_roce),
      TEST(every_link_leads_to_the_bth), TEST(native_links_and_bare_bth),
      TEST(native_link_without_vcrc), TEST(vcrc_is_its_polynomial), TEST(addresses_as_gids),
      TEST(other_protocols_are_not_roce), TEST(ipv6_extension_headers_are_walked),
      TEST(plain_frames_are_read_as_tagged_ones))
