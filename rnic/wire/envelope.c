/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/envelope.h"

#define LNH_IBA_LOCAL    2
#define LNH_IBA_GLOBAL   3
#define IP6_HOP_BY_HOP   0
#define IP6_ROUTING      43
#define IP6_FRAGMENT     44
#define IP6_DEST_OPTIONS 60
#define IP6_EXT_MAX      8 /* maximum number of extension headers; a packet with more is not RoCE */

/* Sets walk->end to `end`, the end of the packet according to a length field. If `end` is before
 * the next byte or after walk->end, records `defect` instead. */
static void limit_end(struct roce_walk *walk, size_t end, enum roce_defect defect)
{
    if (end < walk->off || end > walk->end)
        roce_walk_defect(walk, defect);
    else
        walk->end = end;
}

/* Returns the Internet checksum over an IPv4 header (RFC 791); 0 if the header contains the right
 * checksum. */
static uint16_t ip4_sum(const uint8_t *p, size_t len)
{
    uint64_t sum = 0;

    /* add the 32-bit words of the fixed header; most packets have no options after it */
    for (unsigned i = 0; i < ROCE_IP4_LEN; i += 4)
        sum += roce_bits_get(p, i, 0, 32);
    for (unsigned i = ROCE_IP4_LEN; i < len; i += 4)
        sum += roce_bits_get(p, i, 0, 32);
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return (uint16_t)~sum;
}

void roce_ip4_set_checksum(uint8_t *ip, size_t len)
{
    roce_bits_put(ip, 10, 0, 16, 0);
    roce_bits_put(ip, 10, 0, 16, ip4_sum(ip, len));
}

static int parse_udp(struct roce_walk *walk)
{
    struct roce_pkt *pkt = walk->pkt;
    size_t udp_off = walk->off;
    size_t ip_end = walk->end;
    const uint8_t *p = roce_walk_hdr(walk, ROCE_HDR_UDP, ROCE_UDP_LEN, ROCE_DEFECT_UDP_SHORT);

    if (!p)
        return walk->error;
    roce_udp_parse(p, &pkt->udp);
    if (pkt->udp.dport != ROCE_UDP_PORT)
        return ROCE_ERR_NOT_ROCE;
    if (roce_pkt_defect(pkt, ROCE_DEFECT_IP_FRAGMENT))
        return ROCE_OK; /* in a first fragment, the UDP length counts the whole datagram, so do not
                         * compare it with the length of the IP packet */
    limit_end(walk, udp_off + pkt->udp.len, ROCE_DEFECT_UDP_LEN);
    if (walk->end != ip_end) /* the IP packet has bytes after the UDP datagram */
        roce_walk_defect(walk, ROCE_DEFECT_UDP_LEN);
    return ROCE_OK;
}

static int parse_ip4(struct roce_walk *walk)
{
    struct roce_pkt *pkt = walk->pkt;
    size_t ip_off = walk->off;
    const uint8_t *p = roce_walk_hdr(walk, ROCE_HDR_IP4, ROCE_IP4_LEN, ROCE_DEFECT_IP_SHORT);
    const uint8_t *options;
    uint64_t fragment;
    int error;

    if (!p)
        return walk->error;
    roce_ip4_parse(p, &pkt->ip4);
    pkt->encap = ROCE_ENCAP_V2_IP4;
    pkt->net_off = (uint16_t)ip_off;
    if (pkt->ip4.proto != ROCE_IPPROTO_UDP)
        return ROCE_ERR_NOT_ROCE;
    /* Read MF and the fragment offset from the frame, not from the two members of pkt->ip4 that
     * were just written. Compilers combine the two member reads into one load, which must wait for
     * both stores: this took 10 % of the time of a packet. */
    fragment = roce_bits_get(p, 6, 2, 14);
    if (fragment)
        roce_walk_defect(walk, ROCE_DEFECT_IP_FRAGMENT);
    if (pkt->ip4.frag != 0) /* a fragment after the first one has no UDP header */
        return ROCE_ERR_NOT_ROCE;
    if (pkt->ip4.version != 4)
        roce_walk_defect(walk, ROCE_DEFECT_IP_VERSION);
    if (pkt->ip4.ihl < 5) {
        roce_walk_defect(walk, ROCE_DEFECT_IP_IHL);
        return ROCE_ERR_MALFORMED;
    }
    if (pkt->ip4.ihl > 5) {
        pkt->ip4_options_len = (uint8_t)(pkt->ip4.ihl * 4 - ROCE_IP4_LEN);
        options = roce_walk_take(walk, pkt->ip4_options_len, ROCE_DEFECT_IP_SHORT);
        if (!options)
            return walk->error;
        memcpy(pkt->ip4_options, options, pkt->ip4_options_len);
        roce_walk_defect(walk, ROCE_DEFECT_IP_OPTIONS);
    }
    limit_end(walk, ip_off + pkt->ip4.len, ROCE_DEFECT_IP_LEN);
    error = parse_udp(walk);
    if (error != ROCE_ERR_NOT_ROCE && ip4_sum(p, pkt->ip4.ihl * 4u) != 0)
        roce_walk_defect(walk, pkt->ip4.csum ? ROCE_DEFECT_IP_CHECKSUM : ROCE_DEFECT_IP_CHECKSUM_0);
    return error;
}

/* Parses IPv6 extension headers up to UDP. RoCEv2 does not allow them (CA17-16), so each is
 * recorded as a defect. */
static int parse_ip6_ext(struct roce_walk *walk, uint8_t next)
{
    for (int i = 0; i < IP6_EXT_MAX && next != ROCE_IPPROTO_UDP; i++) {
        const uint8_t *p;

        if (next != IP6_HOP_BY_HOP && next != IP6_ROUTING && next != IP6_FRAGMENT &&
            next != IP6_DEST_OPTIONS)
            return ROCE_ERR_NOT_ROCE;
        roce_walk_defect(walk, ROCE_DEFECT_IP6_EXT);
        p = roce_walk_take(walk, 8, ROCE_DEFECT_IP_SHORT);
        if (!p)
            return walk->error;
        if (next == IP6_FRAGMENT) {
            roce_walk_defect(walk, ROCE_DEFECT_IP_FRAGMENT);
            if (roce_bits_get(p, 2, 0, 13) != 0)
                return ROCE_ERR_NOT_ROCE;
        } else if (!roce_walk_take(walk, p[1] * 8u, ROCE_DEFECT_IP_SHORT)) {
            return walk->error;
        }
        next = p[0];
    }
    return next == ROCE_IPPROTO_UDP ? ROCE_OK : ROCE_ERR_NOT_ROCE;
}

static int parse_ip6(struct roce_walk *walk)
{
    struct roce_pkt *pkt = walk->pkt;
    size_t ip_off = walk->off;
    const uint8_t *p = roce_walk_hdr(walk, ROCE_HDR_IP6, ROCE_IP6_LEN, ROCE_DEFECT_IP_SHORT);
    int error;

    if (!p)
        return walk->error;
    roce_ip6_parse(p, &pkt->ip6);
    pkt->encap = ROCE_ENCAP_V2_IP6;
    pkt->net_off = (uint16_t)ip_off;
    if (pkt->ip6.version != 6)
        roce_walk_defect(walk, ROCE_DEFECT_IP_VERSION);
    limit_end(walk, ip_off + ROCE_IP6_LEN + pkt->ip6.len, ROCE_DEFECT_IP_LEN);
    error = parse_ip6_ext(walk, pkt->ip6.next);
    return error ? error : parse_udp(walk);
}

/* Parses a GRH. The payload length in the GRH includes the ICRC. */
static int parse_grh(struct roce_walk *walk)
{
    struct roce_pkt *pkt = walk->pkt;
    const uint8_t *p = roce_walk_hdr(walk, ROCE_HDR_GRH, ROCE_GRH_LEN, ROCE_DEFECT_GRH_SHORT);

    if (!p)
        return walk->error;
    roce_grh_parse(p, &pkt->grh);
    if (pkt->grh.ipver != 6)
        roce_walk_defect(walk, ROCE_DEFECT_GRH_VERSION);
    if (pkt->grh.next != ROCE_GRH_NEXT_IBA)
        roce_walk_defect(walk, ROCE_DEFECT_GRH_NEXT);
    if (pkt->encap == ROCE_ENCAP_IB_GLOBAL && walk->off + pkt->grh.len != walk->end)
        roce_walk_defect(walk, ROCE_DEFECT_GRH_LEN);
    limit_end(walk, walk->off + pkt->grh.len, ROCE_DEFECT_GRH_LEN);
    return ROCE_OK;
}

static int parse_lrh(struct roce_walk *walk)
{
    struct roce_pkt *pkt = walk->pkt;
    size_t lrh_off = walk->off;
    const uint8_t *p = roce_walk_hdr(walk, ROCE_HDR_LRH, ROCE_LRH_LEN, ROCE_DEFECT_SHORT_LINK);

    if (!p)
        return walk->error;
    roce_lrh_parse(p, &pkt->lrh);
    pkt->net_off = (uint16_t)lrh_off;
    if (pkt->lrh.lnh != LNH_IBA_LOCAL && pkt->lrh.lnh != LNH_IBA_GLOBAL)
        return ROCE_ERR_NOT_ROCE; /* raw packet without InfiniBand transport */
    pkt->encap = pkt->lrh.lnh == LNH_IBA_GLOBAL ? ROCE_ENCAP_IB_GLOBAL : ROCE_ENCAP_IB_LOCAL;
    limit_end(walk, lrh_off + pkt->lrh.len * 4u, ROCE_DEFECT_LRH_LEN);
    return pkt->encap == ROCE_ENCAP_IB_GLOBAL ? parse_grh(walk) : ROCE_OK;
}

/* Parses VLAN tags, then the protocol of the last Ethernet type. */
static int parse_ethertype(struct roce_walk *walk, uint16_t type)
{
    struct roce_pkt *pkt = walk->pkt;

    while (roce_ethertype_is_tag(type)) {
        const uint8_t *p;

        if (pkt->vlan_cnt == ROCE_VLAN_MAX)
            return ROCE_ERR_NOT_ROCE;
        p = roce_walk_hdr(walk, ROCE_HDR_VLAN, ROCE_VLAN_LEN, ROCE_DEFECT_SHORT_LINK);
        if (!p)
            return walk->error;
        roce_vlan_parse(p, &pkt->vlan[pkt->vlan_cnt]);
        type = pkt->vlan[pkt->vlan_cnt++].type;
    }
    switch (type) {
    case ROCE_ETHERTYPE_IP4: return parse_ip4(walk);
    case ROCE_ETHERTYPE_IP6: return parse_ip6(walk);
    case ROCE_ETHERTYPE_V1:
        pkt->encap = ROCE_ENCAP_V1;
        pkt->net_off = (uint16_t)walk->off;
        return parse_grh(walk);
    default: return ROCE_ERR_NOT_ROCE;
    }
}

static int parse_cooked(struct roce_walk *walk, size_t len, unsigned proto_off)
{
    const uint8_t *p = roce_walk_take(walk, len, ROCE_DEFECT_SHORT_LINK);

    return p ? parse_ethertype(walk, (uint16_t)roce_bits_get(p, proto_off, 0, 16)) : walk->error;
}

int roce_envelope_parse(struct roce_walk *walk)
{
    struct roce_pkt *pkt = walk->pkt;
    const uint8_t *p;

    switch (pkt->link) {
    case ROCE_LINK_ETHERNET:
        p = roce_walk_hdr(walk, ROCE_HDR_ETH, ROCE_ETH_LEN, ROCE_DEFECT_SHORT_LINK);
        if (!p)
            return walk->error;
        roce_eth_parse(p, &pkt->eth);
        return parse_ethertype(walk, pkt->eth.type);
    case ROCE_LINK_SLL: return parse_cooked(walk, ROCE_SLL_LEN, ROCE_SLL_PROTO_OFF);
    case ROCE_LINK_SLL2: return parse_cooked(walk, ROCE_SLL2_LEN, ROCE_SLL2_PROTO_OFF);
    case ROCE_LINK_IP:
        if (pkt->cap_len == 0)
            return pkt->wire_len ? ROCE_ERR_CUT : ROCE_ERR_NOT_ROCE;
        switch (roce_bits_get(pkt->frame, 0, 0, 4)) {
        case 4: return parse_ip4(walk);
        case 6: return parse_ip6(walk);
        default: return ROCE_ERR_NOT_ROCE;
        }
    case ROCE_LINK_IB: return parse_lrh(walk);
    case ROCE_LINK_BTH: pkt->encap = ROCE_ENCAP_NONE; return ROCE_OK;
    }
    return ROCE_ERR_NOT_ROCE;
}

static int build_ip4(const struct roce_pkt *pkt, unsigned flags, size_t payload_len,
                     struct roce_wr *wr)
{
    struct roce_ip4 ip = pkt->ip4;
    size_t hdr_len = ROCE_IP4_LEN + pkt->ip4_options_len;
    uint8_t *p;

    if (pkt->ip4_options_len > ROCE_IP4_OPTIONS_MAX || pkt->ip4_options_len % 4 != 0)
        return ROCE_ERR_INVALID;
    if (!(flags & ROCE_BUILD_KEEP_LEN)) {
        if (hdr_len + payload_len > UINT16_MAX)
            return ROCE_ERR_INVALID;
        ip.len = (uint16_t)(hdr_len + payload_len);
        ip.ihl = (uint8_t)(hdr_len / 4);
    }
    p = roce_wr_room(wr, hdr_len);
    if (!p)
        return ROCE_ERR_NOSPACE;
    memcpy(p + ROCE_IP4_LEN, pkt->ip4_options, pkt->ip4_options_len);
    roce_ip4_build(&ip, p);
    if (!(flags & ROCE_BUILD_KEEP_CSUM))
        roce_ip4_set_checksum(p, hdr_len);
    return ROCE_OK;
}

static int build_ip6(const struct roce_pkt *pkt, unsigned flags, size_t payload_len,
                     struct roce_wr *wr)
{
    struct roce_ip6 ip = pkt->ip6;
    uint8_t *p = roce_wr_room(wr, ROCE_IP6_LEN);

    if (!p)
        return ROCE_ERR_NOSPACE;
    if (!(flags & ROCE_BUILD_KEEP_LEN)) {
        if (payload_len > UINT16_MAX)
            return ROCE_ERR_INVALID;
        ip.len = (uint16_t)payload_len;
    }
    roce_ip6_build(&ip, p);
    return ROCE_OK;
}

static int build_udp(const struct roce_pkt *pkt, unsigned flags, size_t payload_len,
                     struct roce_wr *wr)
{
    struct roce_udp udp = pkt->udp;
    uint8_t *p = roce_wr_room(wr, ROCE_UDP_LEN);

    if (!p)
        return ROCE_ERR_NOSPACE;
    if (!(flags & ROCE_BUILD_KEEP_LEN))
        udp.len = (uint16_t)(ROCE_UDP_LEN + payload_len); /* cannot overflow: the total IP length,
                                                           * which is greater, was checked before */
    roce_udp_build(&udp, p);
    return ROCE_OK;
}

static int build_grh(const struct roce_pkt *pkt, unsigned flags, size_t payload_len,
                     struct roce_wr *wr)
{
    struct roce_grh grh = pkt->grh;
    uint8_t *p = roce_wr_room(wr, ROCE_GRH_LEN);

    if (!p)
        return ROCE_ERR_NOSPACE;
    if (!(flags & ROCE_BUILD_KEEP_LEN)) {
        if (payload_len > UINT16_MAX)
            return ROCE_ERR_INVALID;
        grh.len = (uint16_t)payload_len;
    }
    roce_grh_build(&grh, p);
    return ROCE_OK;
}

static int build_lrh(const struct roce_pkt *pkt, unsigned flags, size_t payload_len,
                     struct roce_wr *wr)
{
    struct roce_lrh lrh = pkt->lrh;
    uint8_t *p = roce_wr_room(wr, ROCE_LRH_LEN);

    if (!p)
        return ROCE_ERR_NOSPACE;
    if (!(flags & ROCE_BUILD_KEEP_LEN)) {
        if ((ROCE_LRH_LEN + payload_len) / 4 >= 1u << 11)
            return ROCE_ERR_INVALID;
        lrh.len = (uint16_t)((ROCE_LRH_LEN + payload_len) / 4);
    }
    roce_lrh_build(&lrh, p);
    return ROCE_OK;
}

static int build_link(const struct roce_pkt *pkt, struct roce_wr *wr)
{
    uint8_t *p;

    if (!roce_pkt_has(pkt, ROCE_HDR_ETH))
        return ROCE_OK;
    if (pkt->vlan_cnt > ROCE_VLAN_MAX)
        return ROCE_ERR_INVALID;
    p = roce_wr_room(wr, ROCE_ETH_LEN);
    if (!p)
        return ROCE_ERR_NOSPACE;
    roce_eth_build(&pkt->eth, p);
    for (unsigned i = 0; i < pkt->vlan_cnt; i++) {
        p = roce_wr_room(wr, ROCE_VLAN_LEN);
        if (!p)
            return ROCE_ERR_NOSPACE;
        roce_vlan_build(&pkt->vlan[i], p);
    }
    return ROCE_OK;
}

int roce_envelope_build(const struct roce_pkt *pkt, unsigned flags, size_t bth_len,
                        struct roce_wr *wr)
{
    int error = build_link(pkt, wr);
    int net_off = (int)wr->off;

    if (error)
        return error;
    switch (pkt->encap) {
    case ROCE_ENCAP_NONE: break;
    case ROCE_ENCAP_IB_LOCAL: error = build_lrh(pkt, flags, bth_len, wr); break;
    case ROCE_ENCAP_IB_GLOBAL:
        error = build_lrh(pkt, flags, ROCE_GRH_LEN + bth_len, wr);
        if (!error)
            error = build_grh(pkt, flags, bth_len, wr);
        break;
    case ROCE_ENCAP_V1: error = build_grh(pkt, flags, bth_len, wr); break;
    case ROCE_ENCAP_V2_IP4:
        error = build_ip4(pkt, flags, ROCE_UDP_LEN + bth_len, wr);
        if (!error)
            error = build_udp(pkt, flags, bth_len, wr);
        break;
    case ROCE_ENCAP_V2_IP6:
        error = build_ip6(pkt, flags, ROCE_UDP_LEN + bth_len, wr);
        if (!error)
            error = build_udp(pkt, flags, bth_len, wr);
        break;
    }
    return error ? error : net_off;
}

/* Ethernet type of each encapsulation; 0 for none. */
static const uint16_t encap_ethertype[] = {
    [ROCE_ENCAP_NONE] = 0,
    [ROCE_ENCAP_IB_LOCAL] = 0,
    [ROCE_ENCAP_IB_GLOBAL] = 0,
    [ROCE_ENCAP_V1] = ROCE_ETHERTYPE_V1,
    [ROCE_ENCAP_V2_IP4] = ROCE_ETHERTYPE_IP4,
    [ROCE_ENCAP_V2_IP6] = ROCE_ETHERTYPE_IP6,
};

static void init_lrh(struct roce_pkt *pkt, uint8_t lnh)
{
    pkt->present |= ROCE_HDR_BIT(ROCE_HDR_LRH);
    pkt->lrh.lnh = lnh;
}

static void init_grh(struct roce_pkt *pkt)
{
    pkt->present |= ROCE_HDR_BIT(ROCE_HDR_GRH);
    pkt->grh.ipver = 6;
    pkt->grh.next = ROCE_GRH_NEXT_IBA;
    pkt->grh.hop = 64;
}

void roce_envelope_init(struct roce_pkt *pkt)
{
    pkt->eth.type = encap_ethertype[pkt->encap];
    if (pkt->eth.type)
        pkt->present |= ROCE_HDR_BIT(ROCE_HDR_ETH);
    switch (pkt->encap) {
    case ROCE_ENCAP_NONE: break;
    case ROCE_ENCAP_IB_LOCAL: init_lrh(pkt, LNH_IBA_LOCAL); break;
    case ROCE_ENCAP_IB_GLOBAL:
        init_lrh(pkt, LNH_IBA_GLOBAL);
        init_grh(pkt);
        break;
    case ROCE_ENCAP_V1: init_grh(pkt); break;
    case ROCE_ENCAP_V2_IP4:
        pkt->present |= ROCE_HDR_BIT(ROCE_HDR_IP4) | ROCE_HDR_BIT(ROCE_HDR_UDP);
        pkt->ip4.version = 4;
        pkt->ip4.ihl = 5;
        pkt->ip4.df = 1;
        pkt->ip4.ttl = 64;
        pkt->ip4.proto = ROCE_IPPROTO_UDP;
        pkt->udp.dport = ROCE_UDP_PORT;
        break;
    case ROCE_ENCAP_V2_IP6:
        pkt->present |= ROCE_HDR_BIT(ROCE_HDR_IP6) | ROCE_HDR_BIT(ROCE_HDR_UDP);
        pkt->ip6.version = 6;
        pkt->ip6.hop = 64;
        pkt->ip6.next = ROCE_IPPROTO_UDP;
        pkt->udp.dport = ROCE_UDP_PORT;
        break;
    }
}
