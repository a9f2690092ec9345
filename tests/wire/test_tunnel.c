/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tunnels: a RoCE packet is encapsulated in each tunnel of tunnel.def. The parser must find the
 * packet unchanged. If the inner packet of a tunnel cannot be read, the parser must report a
 * tunnel, not another protocol. tests/traces/capture_variants.py compares the same tunnels with
 * tshark.
 */
#include <stdlib.h>
#include "support/sample.h"
#include "support/suite.h"
#include "wire/tunnel.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

struct frame {
    uint8_t p[1024];
    size_t len;
};

/* One encapsulation in a tunnel. `type` is its Ethernet type; if 0, the tunnel is in an IP packet
 * with protocol `proto` and, for UDP, destination port `port`. After the tunnel header comes the
 * whole inner frame, or only its IP packet (`ip_inside`). */
static const struct wrapping {
    enum roce_tunnel tunnel;
    uint16_t type;
    uint8_t proto;
    uint16_t port;
    bool ip_inside;
    uint32_t overlay;
    uint8_t head_len;
    uint8_t head[28];
} wrappings[] = {
    {ROCE_TUNNEL_VXLAN, 0, 17, 4789, false, 0x01ABCDEF, 8, {8, 0, 0, 0, 0xAB, 0xCD, 0xEF, 0}},
    {ROCE_TUNNEL_VXLAN, 0, 17, 8472, false, 0x01000000, 8, {8}},
    {ROCE_TUNNEL_VXLAN, 0, 17, 4790, false, 0x01000007, 8, {0x0C, 0, 0, 3, 0, 0, 7, 0}},
    {ROCE_TUNNEL_VXLAN, 0, 17, 4790, true, 0x01000007, 8, {0x0C, 0, 0, 1, 0, 0, 7, 0}},
    {ROCE_TUNNEL_GENEVE, 0, 17, 6081, false, 0x01000102, 8, {0, 0, 0x65, 0x58, 0, 1, 2, 0}},
    {ROCE_TUNNEL_GENEVE, 0, 17, 6081, true, 0x01000001, 16, {2, 0, 0x08, 0x00, 0, 0, 1, 0}},
    {ROCE_TUNNEL_GRE, 0, 47, 0, true, 0, 4, {0, 0, 0x08, 0x00}},
    {ROCE_TUNNEL_GRE, 0, 47, 0, false, 0, 8, {0x20, 0, 0x65, 0x58, 1, 2, 3, 4}},
    {ROCE_TUNNEL_GRE, 0, 47, 0, false, 0, 16, {0xB0, 0, 0x65, 0x58}},
    {ROCE_TUNNEL_GRE, 0, 47, 0, true, 0, 8, {0, 0, 0x88, 0x47, 0, 1, 1, 64}},
    {ROCE_TUNNEL_ERSPAN, 0, 47, 0, false, 0, 4, {0, 0, 0x88, 0xBE}},
    {ROCE_TUNNEL_ERSPAN, 0, 47, 0, false, 0, 16, {0x10, 0, 0x88, 0xBE, 0, 0, 0, 1, 0x10, 0, 0, 10}},
    {ROCE_TUNNEL_ERSPAN, 0, 47, 0, false, 0, 20, {0x10, 0, 0x22, 0xEB, 0, 0, 0, 1, 0x20}},
    {ROCE_TUNNEL_ERSPAN,
     0,
     47,
     0,
     false,
     0,
     28,
     {0x10, 0, 0x22, 0xEB, 0, 0, 0, 1, 0x20, [19] = 1, [20] = 8}},
    {ROCE_TUNNEL_IPIP, 0, 4, 0, true, 0, 0, {0}},
    {ROCE_TUNNEL_IPIP, 0, 41, 0, true, 0, 0, {0}},
    {ROCE_TUNNEL_MPLS, 0, 137, 0, true, 0, 4, {0, 1, 1, 64}},
    {ROCE_TUNNEL_MPLS, 0, 17, 6635, true, 0, 4, {0, 1, 1, 64}},
    {ROCE_TUNNEL_MPLS, 0x8847, 0, 0, true, 0, 8, {0, 1, 0, 64, 0, 2, 1, 64}},
    {ROCE_TUNNEL_MPLS, 0x8848, 0, 0, false, 0, 4, {0, 1, 1, 64}},
    {ROCE_TUNNEL_MPLS, 0x8847, 0, 0, false, 0, 8, {0, 1, 1, 64}},
    {ROCE_TUNNEL_PPPOE, 0x8864, 0, 0, true, 0, 8, {0x11, 0, 0, 1, 0xFF, 0xFF, 0, 0x21}},
    {ROCE_TUNNEL_NSH, 0x894F, 0, 0, false, 0, 24, {0, 6, 1, 3, 0, 0, 1, 255}},
    {ROCE_TUNNEL_NSH, 0x894F, 0, 0, true, 0, 8, {0, 2, 2, 1, 0, 0, 1, 255}},
    {ROCE_TUNNEL_PBB, 0x88E7, 0, 0, false, 0, 4, {0, 0, 0, 42}},
    {ROCE_TUNNEL_PORT_TAG, 0x8926, 0, 0, true, 0, 6, {0, 0, 0, 0, 0x08, 0x00}},
    {ROCE_TUNNEL_PORT_TAG,
     0x893F,
     0,
     0,
     true,
     0,
     12,
     {0, 0, 0, 0, 0, 0, 0x81, 0x00, 0, 5, 0x08, 0x00}},
    {ROCE_TUNNEL_GTP, 0, 17, 2152, true, 0, 8, {0x30, 255, 0, 0, 0, 0, 0, 1}},
    {ROCE_TUNNEL_GTP,
     0,
     17,
     2152,
     true,
     0,
     16,
     {0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0}},
};

static void put(struct frame *f, const void *p, size_t len)
{
    CU_ASSERT_FATAL(f->len + len <= sizeof(f->p));
    memcpy(f->p + f->len, p, len);
    f->len += len;
}

static void put_eth(struct frame *f, uint16_t type)
{
    const struct roce_eth eth = {.dst = {2}, .src = {4}, .type = type};
    uint8_t bytes[ROCE_ETH_LEN];

    roce_eth_build(&eth, bytes);
    put(f, bytes, sizeof(bytes));
}

static void put_ip(struct frame *f, bool six, uint8_t proto, size_t len)
{
    const struct roce_ip4 ip4 = {
        .version = 4, .ihl = 5, .len = (uint16_t)(ROCE_IP4_LEN + len), .ttl = 9, .proto = proto};
    const struct roce_ip6 ip6 = {.version = 6, .len = (uint16_t)len, .next = proto, .hop = 9};
    uint8_t bytes[ROCE_IP6_LEN];

    if (six)
        roce_ip6_build(&ip6, bytes);
    else
        roce_ip4_build(&ip4, bytes);
    put(f, bytes, six ? ROCE_IP6_LEN : ROCE_IP4_LEN);
}

/* Encapsulates the frame `inner` in a tunnel. If the tunnel is in an IP packet, this is IPv6 if
 * `six`, otherwise IPv4. */
static void wrap(struct frame *f, const struct wrapping *w, bool six, const struct frame *inner)
{
    size_t skip = w->ip_inside ? ROCE_ETH_LEN : 0;
    size_t len = w->head_len + inner->len - skip + (w->port ? ROCE_UDP_LEN : 0);
    const struct roce_udp udp = {.sport = 50000, .dport = w->port, .len = (uint16_t)len};
    uint8_t bytes[ROCE_UDP_LEN];

    f->len = 0;
    put_eth(f, w->type ? w->type : six ? ROCE_ETHERTYPE_IP6 : ROCE_ETHERTYPE_IP4);
    if (!w->type)
        put_ip(f, six, w->proto, len);
    roce_udp_build(&udp, bytes);
    if (w->port)
        put(f, bytes, sizeof(bytes));
    put(f, w->head, w->head_len);
    put(f, inner->p + skip, inner->len - skip);
}

static void build(struct frame *f, struct roce_pkt *model, enum roce_encap encap)
{
    static const uint8_t payload[6] = "abcde";
    struct rng rng = rng_of(encap);
    int len;

    sample_pkt(model, &rng, encap, ROCE_OP_RC_SEND_ONLY, 0, payload, sizeof(payload));
    len = roce_pkt_build(model, 0, f->p, sizeof(f->p));
    CU_ASSERT_FATAL(len > 0);
    f->len = (size_t)len;
}

static int parse(struct roce_pkt *pkt, const struct frame *f)
{
    return roce_tunnel_parse(pkt, ROCE_LINK_ETHERNET, f->p, f->len, f->len);
}

/* Returns whether the tunnel can contain a packet of encapsulation `encap`. If the tunnel header
 * names the inner protocol, the name is IPv4 in this test. */
static bool fits(const struct wrapping *w, enum roce_encap encap)
{
    bool named = w->tunnel != ROCE_TUNNEL_IPIP && w->tunnel != ROCE_TUNNEL_MPLS &&
                 w->tunnel != ROCE_TUNNEL_PPPOE && w->tunnel != ROCE_TUNNEL_GTP;

    return !w->ip_inside || encap == ROCE_ENCAP_V2_IP4 || (encap == ROCE_ENCAP_V2_IP6 && !named);
}

static void the_packet_inside_is_found(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};

    for (size_t i = 0; i < CNT(wrappings); i++)
        for (unsigned e = 0; e < 2 * CNT(encaps); e++) {
            const struct wrapping *w = &wrappings[i];
            struct frame inner, outer;
            struct roce_pkt model, pkt;

            if (!fits(w, encaps[e / 2]))
                continue;
            build(&inner, &model, encaps[e / 2]);
            wrap(&outer, w, e & 1, &inner);
            EXPECT_EQ(parse(&pkt, &outer), 0);
            EXPECT_EQ(pkt.tunnel, w->tunnel);
            EXPECT_EQ(pkt.overlay, w->overlay);
            EXPECT_EQ(pkt.link, w->ip_inside ? ROCE_LINK_IP : ROCE_LINK_ETHERNET);
            EXPECT_EQ(pkt.encap, encaps[e / 2]);
            EXPECT_EQ(pkt.defects, 0);
            EXPECT_EQ(pkt.bth.psn, model.bth.psn);
            EXPECT_EQ(pkt.payload_len, 6);
            EXPECT_EQ(roce_pkt_icrc_check(&pkt, NULL), ROCE_ICRC_GOOD);
            CU_ASSERT(pkt.frame + pkt.wire_len == outer.p + outer.len);
        }
}

static void a_packet_in_no_tunnel_is_as_before(void)
{
    struct roce_pkt model, pkt, tunnel;
    struct frame f;

    build(&f, &model, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(roce_pkt_parse_captured(&pkt, ROCE_LINK_ETHERNET, f.p, f.len, f.len), 0);
    EXPECT_EQ(parse(&tunnel, &f), 0);
    EXPECT_EQ(memcmp(&pkt, &tunnel, sizeof(pkt)), 0);
    EXPECT_EQ(pkt.tunnel, ROCE_TUNNEL_NONE);
    EXPECT_EQ(pkt.overlay, 0);
}

/* A frame with a tunnel has VLAN tags of each kind before the tunnel header, as access ports add
 * them. The inner packet must be found. */
static void tags_before_the_tunnel(void)
{
    static const uint8_t tags[] = {0x91, 0x00, 0, 7, 0x88, 0xA8, 0, 8, 0x81, 0x00, 0, 9};
    struct roce_pkt model, pkt;
    struct frame inner, outer, tagged = {.len = 0};

    build(&inner, &model, ROCE_ENCAP_V2_IP4);
    wrap(&outer, &wrappings[0], false, &inner);
    put(&tagged, outer.p, 12);
    put(&tagged, tags, sizeof(tags));
    put(&tagged, outer.p + 12, outer.len - 12);
    EXPECT_EQ(parse(&pkt, &tagged), 0);
    EXPECT_EQ(pkt.bth.psn, model.bth.psn);
    EXPECT_EQ(pkt.vlan_cnt, 0); /* the tags belong to the outer frame */
}

static void tunnels_in_tunnels(void)
{
    struct roce_pkt model, pkt;
    struct frame f[2];

    build(&f[0], &model, ROCE_ENCAP_V2_IP4);
    for (unsigned depth = 1; depth <= ROCE_TUNNEL_DEPTH + 1; depth++) {
        wrap(&f[depth & 1], &wrappings[depth == 1 ? 0 : 11], false, &f[~depth & 1]);
        if (depth <= ROCE_TUNNEL_DEPTH) {
            EXPECT_EQ(parse(&pkt, &f[depth & 1]), 0);
            EXPECT_EQ(pkt.tunnel, depth == 1 ? ROCE_TUNNEL_VXLAN : ROCE_TUNNEL_ERSPAN);
            EXPECT_EQ(pkt.overlay, wrappings[0].overlay);
            EXPECT_EQ(pkt.bth.psn, model.bth.psn);
        } else {
            EXPECT_EQ(parse(&pkt, &f[depth & 1]), ROCE_ERR_NOT_ROCE);
            EXPECT_EQ(pkt.tunnel, ROCE_TUNNEL_DEEP);
        }
    }
}

/* The capture is truncated at any byte. The parser must either return the values of the whole inner
 * packet, or report that it was not captured completely. */
static void cut_anywhere(void)
{
    for (size_t i = 0; i < CNT(wrappings); i++) {
        struct roce_pkt model, pkt;
        struct frame inner, outer;
        bool told = false;

        build(&inner, &model, ROCE_ENCAP_V2_IP4);
        wrap(&outer, &wrappings[i], false, &inner);
        for (size_t cap = 0; cap <= outer.len; cap++) {
            uint8_t *exact = sample_exact(outer.p, cap);
            int rc = roce_tunnel_parse(&pkt, ROCE_LINK_ETHERNET, exact, cap, outer.len);

            if (rc == 0) {
                EXPECT_EQ(pkt.bth.psn, model.bth.psn);
                EXPECT_EQ(pkt.payload_len, 6);
                EXPECT_EQ(pkt.tunnel, wrappings[i].tunnel);
            } else if (rc == ROCE_ERR_NOT_ROCE) {
                CU_ASSERT(pkt.tunnel == ROCE_TUNNEL_CUT || pkt.tunnel == ROCE_TUNNEL_NONE);
            } else {
                EXPECT_EQ(rc, ROCE_ERR_CUT);
            }
            CU_ASSERT(rc == 0 || cap + 8 + ROCE_ICRC_LEN < outer.len);
            told |= rc == ROCE_ERR_NOT_ROCE && pkt.tunnel == ROCE_TUNNEL_CUT;
            free(exact);
        }
        CU_ASSERT(told || wrappings[i].tunnel == ROCE_TUNNEL_PORT_TAG);
    }
}

/* A mirror port truncates a frame and then encapsulates it in a tunnel. The lengths of the tunnel
 * headers fit the truncated frame. The parser must detect the truncation of the inner frame. */
static void cut_before_the_tunnel(void)
{
    struct roce_pkt model, pkt;
    struct frame inner, outer;
    size_t whole;

    build(&inner, &model, ROCE_ENCAP_V2_IP4);
    whole = inner.len;
    inner.len -= 7;
    wrap(&outer, &wrappings[11], false, &inner);
    EXPECT_EQ(parse(&pkt, &outer), 0);
    EXPECT_EQ(pkt.wire_len, whole);
    CU_ASSERT(roce_pkt_defect(&pkt, ROCE_DEFECT_CUT));
    EXPECT_EQ(pkt.payload_len, 6);
}

/* The outer frame is short and therefore padded. The padding must not become part of the inner
 * frame. */
static void bytes_behind_the_tunnel(void)
{
    static const uint8_t zero[9];

    for (size_t i = 0; i < CNT(wrappings); i++) {
        struct roce_pkt model, pkt;
        struct frame inner, outer;

        if (wrappings[i].type)
            continue;
        build(&inner, &model, ROCE_ENCAP_V2_IP4);
        wrap(&outer, &wrappings[i], false, &inner);
        put(&outer, zero, sizeof(zero));
        EXPECT_EQ(parse(&pkt, &outer), 0);
        EXPECT_EQ(pkt.defects, 0);
    }
}

static void what_is_not_opened_is_named(void)
{
    static const struct wrapping closed[] = {
        {ROCE_TUNNEL_IPSEC, 0, 50, 0, false, 0, 8, {0}},
        {ROCE_TUNNEL_IPSEC, 0, 17, 4500, false, 0, 8, {0}},
        {ROCE_TUNNEL_L2TP, 0, 115, 0, false, 0, 8, {0}},
        {ROCE_TUNNEL_L2TP, 0, 17, 1701, false, 0, 8, {0}},
        {ROCE_TUNNEL_MACSEC, 0x88E5, 0, 0, false, 0, 6, {0x0C}},
    };
    struct roce_pkt model, pkt;
    struct frame inner, outer;

    build(&inner, &model, ROCE_ENCAP_V2_IP4);
    for (size_t i = 0; i < CNT(closed); i++) {
        wrap(&outer, &closed[i], false, &inner);
        EXPECT_EQ(parse(&pkt, &outer), ROCE_ERR_NOT_ROCE);
        EXPECT_EQ(pkt.tunnel, closed[i].tunnel);
        CU_ASSERT(!roce_tunnel_info(pkt.tunnel)->open);
    }
    wrap(&outer, &wrappings[0], false, &inner);
    outer.p[ROCE_ETH_LEN + 6] = 0x20; /* IP flag "more fragments" */
    EXPECT_EQ(parse(&pkt, &outer), ROCE_ERR_NOT_ROCE);
    EXPECT_EQ(pkt.tunnel, ROCE_TUNNEL_FRAGMENT);
}

/* Tunnels that contain another protocol than RoCE, and frames with too many VLAN tags, must not be
 * RoCE. */
static void other_protocols_stay_so(void)
{
    struct roce_pkt model, pkt;
    struct frame inner, outer;
    size_t at;

    build(&inner, &model, ROCE_ENCAP_V2_IP4);
    inner.p[ROCE_ETH_LEN + 9] = 6; /* IP protocol TCP */
    for (size_t i = 0; i < CNT(wrappings); i++) {
        wrap(&outer, &wrappings[i], false, &inner);
        EXPECT_EQ(parse(&pkt, &outer), ROCE_ERR_NOT_ROCE);
        EXPECT_EQ(pkt.tunnel, ROCE_TUNNEL_NONE);
    }
    outer.len = 0;
    put_eth(&outer, 0x8926);
    for (at = outer.len; at + 6 <= sizeof(outer.p); at += 6)
        memcpy(outer.p + at, "\0\0\0\0\x89\x26", 6);
    outer.len = at;
    EXPECT_EQ(parse(&pkt, &outer), ROCE_ERR_NOT_ROCE);
    EXPECT_EQ(pkt.tunnel, ROCE_TUNNEL_DEEP);
}

static void every_tunnel_has_a_name_and_a_case(void)
{
    CU_ASSERT_PTR_NULL(roce_tunnel_info(ROCE_TUNNEL_NONE));
    CU_ASSERT_PTR_NULL(roce_tunnel_info(ROCE_TUNNEL_CNT));
    for (unsigned t = 1; t < ROCE_TUNNEL_CNT; t++) {
        const struct roce_tunnel_info *info = roce_tunnel_info(t);
        bool found = !info->open;

        CU_ASSERT(info->name[0] != '\0');
        for (size_t i = 0; i < CNT(wrappings); i++)
            found |= wrappings[i].tunnel == t;
        CU_ASSERT(found);
    }
}

SUITE("wire.tunnel", TEST(the_packet_inside_is_found), TEST(a_packet_in_no_tunnel_is_as_before),
      TEST(tags_before_the_tunnel), TEST(tunnels_in_tunnels), TEST(cut_anywhere),
      TEST(cut_before_the_tunnel), TEST(bytes_behind_the_tunnel), TEST(what_is_not_opened_is_named),
      TEST(other_protocols_stay_so), TEST(every_tunnel_has_a_name_and_a_case))
