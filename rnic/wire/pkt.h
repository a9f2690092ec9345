/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet: the model of a packet, for parsing and for building.
 *
 * To parse a frame:
 *   1. roce_pkt_parse() for a received frame, roce_pkt_parse_captured() or roce_tunnel_parse()
 *      (tunnel.h) for a frame of a capture. They fill in the model and copy nothing: payload and
 *      frame point to the caller's bytes.
 *   2. roce_pkt_dropped() returns whether a receiver drops the packet; call it before you rely
 *      on the headers. roce_pkt_icrc_check() checks the ICRC.
 *
 * To build a frame:
 *   1. roce_pkt_init() sets the constants of an encapsulation and an opcode.
 *   2. The caller fills in addresses, headers and payload.
 *   3. roce_pkt_build() writes the frame, and computes lengths, checksum, pad and ICRC.
 *
 * If a frame without defects is parsed and built again, the bytes are the same; a fuzz test checks
 * this. Exceptions: building corrects a wrong ICRC or VCRC, unusual pad bytes, and an IPv4 checksum
 * FFFF instead of 0000; it does not write Linux cooked headers.
 *
 * All numbers are in host order. Offsets and lengths are bytes. No function here allocates memory,
 * keeps state, or reads beyond its input. Errors are those of error.h.
 *
 * Sources: IBTA vol. 1 ch. 7 (LRH), 8 (GRH), 9 (transport); Annex A17 (RoCEv2).
 */
#ifndef ROCE_PKT_H
#define ROCE_PKT_H

#include <stdbool.h>
#include "wire/error.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define ROCE_UDP_PORT        4791u /* UDP destination port of RoCEv2 (CA17-20) */
#define ROCE_ETHERTYPE_IP4   0x0800u
#define ROCE_ETHERTYPE_IP6   0x86DDu
#define ROCE_ETHERTYPE_V1    0x8915u
#define ROCE_ETHERTYPE_VLAN  0x8100u     /* 802.1Q VLAN tag */
#define ROCE_ETHERTYPE_QINQ  0x88A8u     /* 802.1ad service tag */
#define ROCE_ETHERTYPE_QINQ1 0x9100u     /* outer VLAN tag used by switches before 802.1ad */
#define ROCE_IPPROTO_UDP     17u         /* protocol number of UDP */
#define ROCE_GRH_NEXT_IBA    0x1Bu       /* NxtHdr of a GRH before a BTH */
#define ROCE_QP_MULTICAST    0xFFFFFFu   /* DestQP of a multicast packet */
#define ROCE_QP_GSI          1u          /* QP of CM messages */
#define ROCE_QKEY_GSI        0x80010000u /* Q_Key of QP 1 */
#define ROCE_ICRC_LEN        4u
#define ROCE_VCRC_LEN        2u
#define ROCE_VLAN_MAX        4 /* maximum number of VLAN tags; a frame with more is not RoCE */
#define ROCE_IP4_OPTIONS_MAX 40
/* bit that is added to a 24-bit VXLAN or GENEVE network number in roce_pkt.overlay, so that network
 * 0 differs from "no overlay" */
#define ROCE_OVERLAY_VNI 0x01000000u

#define ROCE_FRAME_MAX 4352

/* Returns whether an Ethernet type is a type of VLAN tag. */
static inline bool roce_ethertype_is_tag(uint16_t type)
{
    return type == ROCE_ETHERTYPE_VLAN || type == ROCE_ETHERTYPE_QINQ ||
           type == ROCE_ETHERTYPE_QINQ1;
}

/* First header of a frame. */
enum roce_link {
    ROCE_LINK_ETHERNET,
    ROCE_LINK_SLL,  /* Linux cooked capture v1 */
    ROCE_LINK_SLL2, /* Linux cooked capture v2 */
    ROCE_LINK_IP,   /* raw IP: IPv4 or IPv6 header */
    ROCE_LINK_IB,   /* native InfiniBand: LRH */
    ROCE_LINK_BTH,  /* BTH: the UDP payload that Wireshark passes to a dissector of port 4791 */
};

/* Bit numbers of roce_pkt.defects. */
enum roce_defect {
#define DEFECT(id, ID, severity, text, source) ROCE_DEFECT_##ID,
#include "wire/defects.def"
    ROCE_DEFECT_CNT
};
_Static_assert(ROCE_DEFECT_CNT <= 32, "roce_pkt.defects holds one bit for each defect");

enum roce_defect_severity { ROCE_DEFECT_INFO, ROCE_DEFECT_DROP, ROCE_DEFECT_WALK };

struct roce_defect_info {
    const char *id;   /* short name of the defect, for example "pad_count" */
    const char *text; /* description of the defect, one line */
    const char *source;
    enum roce_defect_severity severity;
};

struct roce_header_template;

struct roce_pkt {
    /* The parsed frame; NULL for a packet that is to be built. */
    const uint8_t *frame;
    uint32_t cap_len;  /* number of bytes in `frame` */
    uint32_t wire_len; /* length of the frame on the wire, >= cap_len */

    enum roce_link link;
    enum roce_encap encap;
    const struct roce_opcode *op; /* properties of the opcode; NULL until the BTH was read */
    roce_hdr_set present;         /* set of the headers that are valid in the members below */
    uint32_t defects;             /* bit set of enum roce_defect */

    /* Payload without pad; NULL if payload_cap_len is 0. */
    const uint8_t *payload;
    uint32_t payload_len;     /* payload length on the wire, bytes */
    uint32_t payload_cap_len; /* number of captured payload bytes, <= payload_len */
    uint32_t icrc;            /* ICRC in the packet; 0 if it was not captured */
    uint32_t icrc_off;        /* offset of the ICRC in the frame on the wire; may be >= cap_len */
    uint32_t end_off;         /* offset of the first byte after the packet: after the ICRC or, on a
                               * native link, after the VCRC */
    uint16_t net_off;     /* offset of the first byte covered by the ICRC: LRH, GRH or IP header */
    uint16_t payload_off; /* offset of the first byte after the headers */

    /* Headers of most packets. They are near the members above to save cache lines, because one
     * core often parses a packet that another core then uses. */
    struct roce_ip4 ip4;
    struct roce_udp udp;
    struct roce_bth bth;
    struct roce_aeth aeth;
    struct roce_reth reth;

    /* Offset of each present header in `frame`. For VLAN tags, the offset of the first tag. */
    uint16_t off[ROCE_HDR_CNT];

    struct roce_eth eth;
    uint8_t pad[3]; /* BTH.PadCnt pad bytes, zero by the specification (R027) */

    /* In most packets, all members declared from here on are zero. */
    bool parsed_fast; /* true: roce_pkt_parse_fast() parsed the packet, and all members declared
                       * below this one are zero, except the headers of the opcode */
    uint8_t vlan_cnt;
    uint8_t tunnel; /* enum roce_tunnel of the tunnel around the packet (tunnel.h), or 0 */
    struct roce_vlan vlan[ROCE_VLAN_MAX]; /* VLAN tags, outermost first; `type` is the type after
                                           * the tag */
    struct roce_lrh lrh;
    uint32_t overlay; /* network number of the innermost VXLAN or GENEVE header plus
                       * ROCE_OVERLAY_VNI (tunnel.h); 0: no overlay */
    /* Network layer headers. */
    uint8_t ip4_options_len; /* length of the IPv4 options, 0..40, a multiple of 4 */
    uint8_t ip4_options[ROCE_IP4_OPTIONS_MAX];
    struct roce_ip6 ip6;
    struct roce_grh grh;
    /* Transport headers that are rare. */
    struct roce_rdeth rdeth;
    struct roce_deth deth;
    struct roce_xrceth xrceth;
    struct roce_feth feth;
    struct roce_atomiceth atomiceth;
    struct roce_atomicacketh atomicacketh;
    struct roce_immdt immdt;
    struct roce_ieth ieth;
    struct roce_cnp cnp;

    uint16_t vcrc; /* VCRC of a native link */

    /* for building: template of the headers before the BTH (header_template.h); NULL:
     * roce_pkt_build() builds these headers from the members above */
    const struct roce_header_template *header_template;
};

/*
 * Parses the packet at `frame`, of which `cap_len` bytes were captured. On the wire the frame had
 * `wire_len` >= cap_len bytes. Returns
 *
 * 0                   if the BTH was parsed. pkt->present is the set of parsed headers, and
 *                     pkt->defects the set of defects. Call roce_pkt_dropped() before you rely on
 *                     the headers.
 * ROCE_ERR_NOT_ROCE   for another protocol, and for a fragment without a UDP header
 * ROCE_ERR_CUT        if the capture ends before the end of the BTH
 * ROCE_ERR_MALFORMED  if a defect of severity ROCE_DEFECT_WALK precedes the BTH; it is in
 *                     pkt->defects
 *
 * In every case all members of *pkt are set; members that were not parsed are zero.
 */
int roce_pkt_parse(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame, size_t cap_len,
                   size_t wire_len);

/* Parses a usual frame (see fast_parse.h) faster than roce_pkt_parse(), with the same result in
 * *pkt, and returns true. For any other frame, returns false and leaves *pkt unchanged. *pkt must
 * be all zero, or the result of a parse function for an earlier frame. The function needs this,
 * because it does not clear members again that are already zero. */
bool roce_pkt_parse_fast(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame,
                         size_t cap_len, size_t wire_len);

/* Parses a frame of a capture in the same way as roce_pkt_parse(). In addition, detects frames that
 * a mirror port truncated without a mark in the capture file. A frame counts as truncated if three
 * conditions hold: the frame is shorter than its IP and UDP lengths, which agree; its IPv4 checksum
 * is correct; its last four bytes are not a correct ICRC. pkt->wire_len is then computed from the
 * IP length. */
int roce_pkt_parse_captured(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame,
                            size_t cap_len, size_t wire_len);

/* Returns whether a conformant receiver silently drops this packet because of a format defect (R016
 * and others). The ICRC is not checked: see roce_pkt_icrc_check(). */
bool roce_pkt_dropped(const struct roce_pkt *pkt);

/* Computes the checksum of the IPv4 header at `ip`, which has `len` bytes (RFC 791), and writes the
 * checksum into the header. */
void roce_ip4_set_checksum(uint8_t *ip, size_t len);

const struct roce_defect_info *roce_defect_info(enum roce_defect defect);

enum roce_icrc_status {
    ROCE_ICRC_GOOD,
    ROCE_ICRC_BAD,
    ROCE_ICRC_UNVERIFIED, /* the ICRC cannot be checked: truncated capture, IP fragment, no
                           * headers before the BTH, or lengths that contradict each other */
};

/* Computes the ICRC of a parsed packet and compares it with the ICRC in the packet. For GOOD and
 * BAD, stores the computed ICRC in *expected; `expected` may be NULL. */
enum roce_icrc_status roce_pkt_icrc_check(const struct roce_pkt *pkt, uint32_t *expected);

/* Flags of roce_pkt_build(): these fields are copied from the model instead of computed. */
enum {
    ROCE_BUILD_KEEP_LEN = 1u << 0,  /* IP, UDP, GRH and LRH lengths, IHL */
    ROCE_BUILD_KEEP_CSUM = 1u << 1, /* IPv4 header checksum */
    ROCE_BUILD_KEEP_PAD = 1u << 2,  /* BTH.PadCnt and the pad bytes */
    ROCE_BUILD_KEEP_ICRC = 1u << 3, /* ICRC (and VCRC) */
};

/*
 * Writes the packet that `pkt` describes to `buf`, without trailer. `encap` selects the envelope,
 * and ROCE_HDR_ETH in `present` adds an Ethernet header with its VLAN tags. `bth.opcode` determines
 * the headers after the BTH. `payload` and `payload_len` are the payload. `link` and
 * `payload_cap_len` are ignored. The Ethernet types and next-header numbers in the model must be
 * set, as roce_pkt_init() does.
 *
 * Returns the length, ROCE_ERR_NOSPACE if the length exceeds `cap`, or ROCE_ERR_INVALID if the
 * model cannot be encoded: a payload above 64 KiB, too many options or tags, or a NULL payload with
 * a payload_len above 0.
 */
int roce_pkt_build(const struct roce_pkt *pkt, unsigned flags, uint8_t *buf, size_t cap);

/* Initializes a model for building. All members are zero, except for the constants of `encap` and
 * `opcode` (versions, types, next headers, UDP 4791, DF, hop limits of 64, MigReq 1, P_Key 0xFFFF).
 * The caller fills in addresses, QPN, PSN, headers and payload. The model has an Ethernet header,
 * unless the encapsulation is native InfiniBand or NONE. */
void roce_pkt_init(struct roce_pkt *pkt, enum roce_encap encap, uint8_t opcode);

/* Copies the source and destination address of the network layer, 16 bytes each: a GID, an IPv6
 * address, or an IPv4 address as ::ffff:a.b.c.d (A17.4.1.1). If the packet has no such addresses,
 * both are zero. */
void roce_pkt_addr(const struct roce_pkt *pkt, uint8_t src[16], uint8_t dst[16]);

static inline bool roce_pkt_has(const struct roce_pkt *pkt, enum roce_hdr hdr)
{
    return (pkt->present & ROCE_HDR_BIT(hdr)) != 0;
}

static inline bool roce_pkt_defect(const struct roce_pkt *pkt, enum roce_defect defect)
{
    return (pkt->defects & (UINT32_C(1) << defect)) != 0;
}

static inline roce_psn roce_pkt_psn(const struct roce_pkt *pkt)
{
    return roce_psn_of(pkt->bth.psn);
}

#endif
