/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/tunnel.h"

#include "wire/envelope.h"

/* Ethernet types of tunnels, and of the tags of port extenders: VN-Tag and E-Tag (IEEE
 * registry). */
#define TYPE_TEB     0x6558u /* transparent Ethernet bridging: the inner packet is a whole frame */
#define TYPE_MPLS    0x8847u
#define TYPE_MPLS_M  0x8848u
#define TYPE_PPPOE   0x8864u
#define TYPE_ERSPAN2 0x88BEu
#define TYPE_ERSPAN3 0x22EBu
#define TYPE_MACSEC  0x88E5u
#define TYPE_PBB     0x88E7u
#define TYPE_VNTAG   0x8926u
#define TYPE_ETAG    0x893Fu
#define TYPE_NSH     0x894Fu

#define STEPS_MAX   16 /* maximum number of headers around one inner frame */
#define IP6_EXT_MAX 8

/* State of the parser of the headers around one inner frame. */
struct tunnel_walk {
    const uint8_t *frame;
    size_t off, cap; /* offset of the next byte; number of captured bytes */
    size_t end;      /* end of the frame according to the innermost length field */
    enum roce_tunnel tunnel;
    enum roce_link link; /* first header of the inner frame, if `found` */
    bool found, cut, of_port;
    unsigned steps;
    uint32_t overlay;
};

static void at_type(struct tunnel_walk *walk, uint16_t type);

static const uint8_t *take_bytes(struct tunnel_walk *walk, size_t len)
{
    const uint8_t *p = walk->frame + walk->off;

    if (len > walk->end - walk->off)
        return NULL;
    if (len > walk->cap - walk->off) {
        walk->cut = true;
        return NULL;
    }
    walk->off += len;
    return p;
}

/* Records `tunnel` if it is the outermost tunnel. Also records it if packets in this kind of tunnel
 * cannot be parsed, for example because they are encrypted. */
static void set_tunnel(struct tunnel_walk *walk, enum roce_tunnel tunnel)
{
    if (!walk->tunnel || !roce_tunnel_info(tunnel)->open)
        walk->tunnel = tunnel;
}

static void set_inner_link(struct tunnel_walk *walk, enum roce_tunnel tunnel, enum roce_link link)
{
    set_tunnel(walk, tunnel);
    walk->link = link;
    walk->found = true;
}

/* Moves walk->end to `len` bytes after the next byte, if that is earlier. A length beyond the end
 * is ignored, because a mirror port may have truncated the frame. */
static void limit_end(struct tunnel_walk *walk, size_t len)
{
    if (len < walk->end - walk->off)
        walk->end = walk->off + len;
}

/* ---- contents of tunnels --------------------------------------------------------------------- */

/* Handles the packet inside a tunnel. The tunnel's header contains `type`, the Ethernet type of the
 * inner protocol. */
static void inner_by_ethertype(struct tunnel_walk *walk, enum roce_tunnel tunnel, uint16_t type)
{
    set_tunnel(walk, tunnel);
    switch (type) {
    case TYPE_TEB: set_inner_link(walk, tunnel, ROCE_LINK_ETHERNET); break;
    case ROCE_ETHERTYPE_IP4:
    case ROCE_ETHERTYPE_IP6: set_inner_link(walk, tunnel, ROCE_LINK_IP); break;
    case TYPE_MPLS:
    case TYPE_MPLS_M:
    case TYPE_NSH: at_type(walk, type); break;
    default: break;
    }
}

/* Handles the packet inside a tunnel. The tunnel's header contains `next`, the number of the inner
 * protocol. The numbers are those of NSH (RFC 8300, 2.2), which the generic VXLAN header also
 * uses. */
static void inner_by_next_protocol(struct tunnel_walk *walk, enum roce_tunnel tunnel, uint8_t next)
{
    static const uint16_t types[] = {0,        ROCE_ETHERTYPE_IP4, ROCE_ETHERTYPE_IP6,
                                     TYPE_TEB, TYPE_NSH,           TYPE_MPLS};

    if (next < sizeof(types) / sizeof(types[0]))
        inner_by_ethertype(walk, tunnel, types[next]);
}

/* Returns whether an Ethernet header may follow after `skip` more bytes: the bytes at the place of
 * its Ethernet type are the type of a packet that may contain RoCE. */
static bool may_be_ethernet(const struct tunnel_walk *walk, size_t skip)
{
    uint16_t type;

    if (walk->cap - walk->off < skip + ROCE_ETH_LEN)
        return false;
    type = (uint16_t)roce_be_get(walk->frame + walk->off + skip + ROCE_ETH_LEN - 2, 2);
    return type == ROCE_ETHERTYPE_IP4 || type == ROCE_ETHERTYPE_IP6 || type == ROCE_ETHERTYPE_V1 ||
           roce_ethertype_is_tag(type);
}

/* Parses MPLS labels, then an IP packet or a pseudowire. A pseudowire is an Ethernet frame, with or
 * without a control word before it (RFC 4448 4.6). No header field shows whether there is a control
 * word, so the function infers this from the bytes that follow. */
static void at_mpls(struct tunnel_walk *walk)
{
    const uint8_t *p;
    uint8_t version;

    set_tunnel(walk, ROCE_TUNNEL_MPLS);
    do
        p = take_bytes(walk, 4);
    while (p && !(p[2] & 1));
    if (!p || walk->off >= walk->end)
        return;
    if (walk->off >= walk->cap) {
        walk->cut = true;
        return;
    }
    version = walk->frame[walk->off] >> 4;
    if ((version == 4 || version == 6) && !may_be_ethernet(walk, 0)) {
        set_inner_link(walk, ROCE_TUNNEL_MPLS, ROCE_LINK_IP);
        return;
    }
    if (version == 0 && may_be_ethernet(walk, 4))
        (void)take_bytes(walk, 4);
    set_inner_link(walk, ROCE_TUNNEL_MPLS, ROCE_LINK_ETHERNET);
}

static void at_pppoe(struct tunnel_walk *walk)
{
    const uint8_t *p = take_bytes(walk, 6);
    uint16_t protocol;

    set_tunnel(walk, ROCE_TUNNEL_PPPOE);
    if (!p || p[1] != 0) /* only code 0, session data, contains a packet */
        return;
    limit_end(walk, roce_be_get(p + 4, 2));
    p = take_bytes(walk, 2);
    protocol = p ? (uint16_t)roce_be_get(p, 2) : 0;
    if (protocol == 0x0021 || protocol == 0x0057)
        set_inner_link(walk, ROCE_TUNNEL_PPPOE, ROCE_LINK_IP);
}

static void at_nsh(struct tunnel_walk *walk)
{
    const uint8_t *p = take_bytes(walk, 8);
    unsigned len;

    set_tunnel(walk, ROCE_TUNNEL_NSH);
    if (!p)
        return;
    len = (p[1] & 0x3Fu) * 4;
    if (len >= 8 && take_bytes(walk, len - 8))
        inner_by_next_protocol(walk, ROCE_TUNNEL_NSH, p[3]);
}

/* Parses ERSPAN. Type I has no sequence number and no header. Type III has 8 more bytes if its O
 * bit is 1. */
static void at_erspan(struct tunnel_walk *walk, uint16_t type, bool seq)
{
    const uint8_t *p;

    walk->tunnel = ROCE_TUNNEL_ERSPAN; /* the GRE header is part of ERSPAN, so record only ERSPAN */
    if (type == TYPE_ERSPAN2 && !seq) {
        set_inner_link(walk, ROCE_TUNNEL_ERSPAN, ROCE_LINK_ETHERNET);
        return;
    }
    p = take_bytes(walk, type == TYPE_ERSPAN2 ? 8 : 12);
    if (p && (type == TYPE_ERSPAN2 || !(p[11] & 1) || take_bytes(walk, 8)))
        set_inner_link(walk, ROCE_TUNNEL_ERSPAN, ROCE_LINK_ETHERNET);
}

static void at_gre(struct tunnel_walk *walk)
{
    const uint8_t *p = take_bytes(walk, 4);
    uint16_t type;
    bool seq;

    set_tunnel(walk, ROCE_TUNNEL_GRE);
    if (!p || (p[1] & 7) != 0) /* GRE version 1 is PPTP */
        return;
    seq = (p[0] & 0x10) != 0;
    type = (uint16_t)roce_be_get(p + 2, 2);
    /* skip checksum, key and sequence number: four bytes each, present if their flag is set */
    if (!take_bytes(walk, 4u * ((unsigned)(p[0] >> 7) + (p[0] >> 5 & 1u) + seq)))
        return;
    if (type == TYPE_ERSPAN2 || type == TYPE_ERSPAN3)
        at_erspan(walk, type, seq);
    else
        inner_by_ethertype(walk, ROCE_TUNNEL_GRE, type);
}

/* ---- tunnels in UDP -------------------------------------------------------------------------- */

static void set_overlay(struct tunnel_walk *walk, uint32_t vni)
{
    walk->overlay = ROCE_OVERLAY_VNI | vni;
}

/* Parses VXLAN. If the P bit of the generic extension is 0, an Ethernet frame follows. */
static void at_vxlan(struct tunnel_walk *walk, bool generic)
{
    const uint8_t *p = take_bytes(walk, 8);

    set_tunnel(walk, ROCE_TUNNEL_VXLAN);
    if (!p)
        return;
    set_overlay(walk, (uint32_t)roce_be_get(p + 4, 3));
    if (!generic || !(p[0] & 0x04))
        set_inner_link(walk, ROCE_TUNNEL_VXLAN, ROCE_LINK_ETHERNET);
    else
        inner_by_next_protocol(walk, ROCE_TUNNEL_VXLAN, p[3]);
}

static void at_geneve(struct tunnel_walk *walk)
{
    const uint8_t *p = take_bytes(walk, 8);

    set_tunnel(walk, ROCE_TUNNEL_GENEVE);
    if (!p || p[0] >> 6 != 0 || !take_bytes(walk, (p[0] & 0x3Fu) * 4))
        return;
    set_overlay(walk, (uint32_t)roce_be_get(p + 4, 3));
    inner_by_ethertype(walk, ROCE_TUNNEL_GENEVE, (uint16_t)roce_be_get(p + 2, 2));
}

/* Parses a GTP-U G-PDU. If any of the flags E, S, PN is set, the header has four more bytes, then
 * extension headers. */
static void at_gtp(struct tunnel_walk *walk)
{
    const uint8_t *p = take_bytes(walk, 8);
    uint8_t next;

    set_tunnel(walk, ROCE_TUNNEL_GTP);
    if (!p || p[0] >> 4 != 3 || p[1] != 255)
        return;
    if (p[0] & 7) {
        p = take_bytes(walk, 4);
        next = p ? p[3] : 0;
        while (p && next != 0) {
            p = take_bytes(walk, 1);
            if (p && (p[0] == 0 || !take_bytes(walk, p[0] * 4u - 1)))
                p = NULL;
            next = p ? walk->frame[walk->off - 1] : 0;
        }
        if (!p)
            return;
    }
    set_inner_link(walk, ROCE_TUNNEL_GTP, ROCE_LINK_IP);
}

/* Handles the UDP ports of tunnels (IANA). Linux used port 8472 for VXLAN before IANA assigned
 * 4789. */
static void at_udp(struct tunnel_walk *walk)
{
    const uint8_t *p = take_bytes(walk, ROCE_UDP_LEN);

    if (!p)
        return;
    switch (roce_be_get(p + 2, 2)) {
    case 4789:
    case 8472: at_vxlan(walk, false); break;
    case 4790: at_vxlan(walk, true); break;
    case 6081: at_geneve(walk); break;
    case 2152: at_gtp(walk); break;
    case 6635: at_mpls(walk); break;
    case 4500: set_tunnel(walk, ROCE_TUNNEL_IPSEC); break;
    case 1701: set_tunnel(walk, ROCE_TUNNEL_L2TP); break;
    default: break;
    }
}

/* ---- entering a tunnel ----------------------------------------------------------------------- */

static void at_protocol(struct tunnel_walk *walk, uint8_t proto, bool fragment)
{
    switch (proto) {
    case 4:
    case 41: set_inner_link(walk, ROCE_TUNNEL_IPIP, ROCE_LINK_IP); break;
    case 47: at_gre(walk); break;
    case 50: set_tunnel(walk, ROCE_TUNNEL_IPSEC); break;
    case 115: set_tunnel(walk, ROCE_TUNNEL_L2TP); break;
    case 137: at_mpls(walk); break;
    case ROCE_IPPROTO_UDP: at_udp(walk); break;
    default: break;
    }
    if (fragment && walk->tunnel != ROCE_TUNNEL_NONE) {
        set_tunnel(walk, ROCE_TUNNEL_FRAGMENT);
        walk->found = false;
    }
}

static void at_ip4(struct tunnel_walk *walk)
{
    size_t off = walk->off;
    const uint8_t *p = take_bytes(walk, ROCE_IP4_LEN);
    struct roce_ip4 ip;

    if (!p)
        return;
    roce_ip4_parse(p, &ip);
    if (ip.ihl < 5 || !take_bytes(walk, ip.ihl * 4u - ROCE_IP4_LEN))
        return;
    if (ip.len >= walk->off - off)
        limit_end(walk, ip.len - (walk->off - off));
    /* only the first fragment has a UDP header, with the ports */
    if (ip.frag == 0 || ip.proto != ROCE_IPPROTO_UDP)
        at_protocol(walk, ip.proto, ip.mf || ip.frag != 0);
}

static void at_ip6(struct tunnel_walk *walk)
{
    const uint8_t *p = take_bytes(walk, ROCE_IP6_LEN);
    bool fragment = false, first = true;
    struct roce_ip6 ip;
    uint8_t next;

    if (!p)
        return;
    roce_ip6_parse(p, &ip);
    limit_end(walk, ip.len);
    next = ip.next;
    for (int i = 0; i < IP6_EXT_MAX && (next == 0 || next == 43 || next == 44 || next == 60); i++) {
        p = take_bytes(walk, 8);
        if (!p || (next != 44 && !take_bytes(walk, p[1] * 8u)))
            return;
        if (next == 44) {
            fragment = true;
            first = roce_bits_get(p, 2, 0, 13) == 0;
        }
        next = p[0];
    }
    if (first || next != ROCE_IPPROTO_UDP)
        at_protocol(walk, next, fragment);
}

/* Parses a tag of `len` bytes and the Ethernet type at its end. VLAN tags are not a tunnel. The tag
 * of a port extender (`of_port`) is a tunnel, and the IP packet after the tag is its inner
 * packet. */
static void at_tag(struct tunnel_walk *walk, size_t len, bool of_port)
{
    const uint8_t *p = take_bytes(walk, len);
    uint16_t type;

    if (!p)
        return;
    type = (uint16_t)roce_be_get(p + len - 2, 2);
    walk->of_port |= of_port;
    if (walk->of_port && (type == ROCE_ETHERTYPE_IP4 || type == ROCE_ETHERTYPE_IP6))
        set_inner_link(walk, ROCE_TUNNEL_PORT_TAG, ROCE_LINK_IP);
    else
        at_type(walk, type);
}

static void at_type(struct tunnel_walk *walk, uint16_t type)
{
    if (walk->steps++ == STEPS_MAX) {
        set_tunnel(walk, ROCE_TUNNEL_DEEP);
        return;
    }
    switch (type) {
    case ROCE_ETHERTYPE_IP4: at_ip4(walk); break;
    case ROCE_ETHERTYPE_IP6: at_ip6(walk); break;
    case TYPE_MPLS:
    case TYPE_MPLS_M: at_mpls(walk); break;
    case TYPE_PPPOE: at_pppoe(walk); break;
    case TYPE_NSH: at_nsh(walk); break;
    case TYPE_PBB:
        set_tunnel(walk, ROCE_TUNNEL_PBB);
        if (take_bytes(walk, 4))
            set_inner_link(walk, ROCE_TUNNEL_PBB, ROCE_LINK_ETHERNET);
        break;
    case TYPE_MACSEC: set_tunnel(walk, ROCE_TUNNEL_MACSEC); break;
    case ROCE_ETHERTYPE_VLAN:
    case ROCE_ETHERTYPE_QINQ:
    case ROCE_ETHERTYPE_QINQ1: at_tag(walk, ROCE_VLAN_LEN, false); break;
    case TYPE_VNTAG: at_tag(walk, 6, true); break;
    case TYPE_ETAG: at_tag(walk, 8, true); break;
    default: break;
    }
}

/* Parses the headers from the start of a frame up to the first frame inside it. */
static void walk_frame(struct tunnel_walk *walk, enum roce_link link)
{
    const uint8_t *p;

    switch (link) {
    case ROCE_LINK_ETHERNET:
        if ((p = take_bytes(walk, ROCE_ETH_LEN)))
            at_type(walk, (uint16_t)roce_be_get(p + ROCE_ETH_LEN - 2, 2));
        break;
    case ROCE_LINK_SLL:
        if ((p = take_bytes(walk, ROCE_SLL_LEN)))
            at_type(walk, (uint16_t)roce_be_get(p + ROCE_SLL_PROTO_OFF, 2));
        break;
    case ROCE_LINK_SLL2:
        if ((p = take_bytes(walk, ROCE_SLL2_LEN)))
            at_type(walk, (uint16_t)roce_be_get(p + ROCE_SLL2_PROTO_OFF, 2));
        break;
    case ROCE_LINK_IP:
        if (walk->cap == 0)
            break;
        if (walk->frame[0] >> 4 == 4)
            at_ip4(walk);
        else if (walk->frame[0] >> 4 == 6)
            at_ip6(walk);
        break;
    case ROCE_LINK_IB:
    case ROCE_LINK_BTH: break;
    }
}

/* ---- tunnels in tunnels ---------------------------------------------------------------------- */

const struct roce_tunnel_info *roce_tunnel_info(unsigned tunnel)
{
    static const struct roce_tunnel_info infos[] = {
        {0},
#define TUNNEL(ID, name, open) {name, open},
#include "wire/tunnel.def"
    };

    return tunnel > ROCE_TUNNEL_NONE && tunnel < ROCE_TUNNEL_CNT ? &infos[tunnel] : NULL;
}

/* Returns whether the packet is certainly RoCE, even if it cannot be parsed completely. */
static bool is_roce(const struct roce_pkt *pkt, int error)
{
    return error != ROCE_ERR_NOT_ROCE &&
           (pkt->encap == ROCE_ENCAP_V1 ||
            (roce_pkt_has(pkt, ROCE_HDR_UDP) && pkt->udp.dport == ROCE_UDP_PORT));
}

/* Parses the frames inside the tunnels of a frame, from the outermost tunnel on, until a frame is
 * RoCE. At the call, *pkt is the outer frame, which is not RoCE. */
static int parse_inside(struct roce_pkt *pkt)
{
    enum roce_tunnel outermost = ROCE_TUNNEL_NONE, closed = ROCE_TUNNEL_DEEP;
    uint32_t overlay = 0;

    for (int depth = 0; depth <= ROCE_TUNNEL_DEPTH; depth++) {
        struct tunnel_walk walk = {.frame = pkt->frame, .cap = pkt->cap_len, .end = pkt->wire_len};
        int error;

        walk_frame(&walk, pkt->link);
        if (!walk.found) {
            closed = walk.tunnel && walk.cut                               ? ROCE_TUNNEL_CUT
                     : walk.tunnel && !roce_tunnel_info(walk.tunnel)->open ? walk.tunnel
                                                                           : ROCE_TUNNEL_NONE;
            break;
        }
        if (depth == ROCE_TUNNEL_DEPTH)
            break;
        if (!outermost)
            outermost = walk.tunnel;
        if (walk.overlay)
            overlay = walk.overlay;
        if (walk.cap > walk.end)
            walk.cap = walk.end;
        error = roce_pkt_parse_captured(pkt, walk.link, walk.frame + walk.off, walk.cap - walk.off,
                                        walk.end - walk.off);
        if (is_roce(pkt, error)) {
            pkt->tunnel = (uint8_t)outermost;
            pkt->overlay = overlay;
            return error;
        }
        if (error != ROCE_ERR_NOT_ROCE) {
            closed = error == ROCE_ERR_CUT ? ROCE_TUNNEL_CUT : ROCE_TUNNEL_NONE;
            break;
        }
    }
    pkt->tunnel = (uint8_t)closed;
    return ROCE_ERR_NOT_ROCE;
}

int roce_tunnel_parse(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame,
                      size_t cap_len, size_t wire_len)
{
    int error = roce_pkt_parse_captured(pkt, link, frame, cap_len, wire_len);

    return error == ROCE_ERR_NOT_ROCE ? parse_inside(pkt) : error;
}
