/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/fast_parse.h"

#include <string.h>
#include "wire/ext_headers.h"

/* Offsets of the headers in a frame that roce_fast_parse() accepts: IPv4 without VLAN tag and
 * options. */
enum {
    AT_IP4 = ROCE_ETH_LEN,
    AT_UDP = AT_IP4 + ROCE_IP4_LEN,
    AT_BTH = AT_UDP + ROCE_UDP_LEN,
};

#define HDRS_TO_BTH                                                                                \
    (ROCE_HDR_BIT(ROCE_HDR_ETH) | ROCE_HDR_BIT(ROCE_HDR_IP4) | ROCE_HDR_BIT(ROCE_HDR_UDP) |        \
     ROCE_HDR_BIT(ROCE_HDR_BTH))
#define IP4_FRAGMENT 0x3FFFu /* mask for bytes 6 and 7: more fragments, or a fragment offset */

/* Returns whether the checksum of an IPv4 header without options is right: the ones' complement sum
 * of its words is all ones. */
static bool ip4_checksum_is_right(const uint8_t *p)
{
    uint64_t sum = roce_be_get(p, 4) + roce_be_get(p + 4, 4) + roce_be_get(p + 8, 4) +
                   roce_be_get(p + 12, 4) + roce_be_get(p + 16, 4);

    _Static_assert(ROCE_IP4_LEN == 20, "five words");
    sum = (sum >> 32) + (sum & UINT32_MAX); /* now below 2^32 + 5 */
    sum = (sum >> 16) + (sum & 0xFFFF);     /* now below 2^17 */
    sum = (sum >> 16) + (sum & 0xFFFF);
    return sum == 0xFFFF;
}

/* Returns whether the frame has Ethernet without tags, IPv4 without options or fragments, UDP,
 * correct lengths and checksum, and no trailer. Tests the bytes of the frame: if the
 * function tested members of *pkt that were just written, compilers would combine the reads of two
 * members into one load, which would have to wait for the stores to both members. */
static bool is_common_envelope(const uint8_t *frame, size_t wire_len)
{
    const uint8_t *ip = frame + AT_IP4, *udp = frame + AT_UDP;

    return roce_be_get(ip - 2, 2) == ROCE_ETHERTYPE_IP4 && ip[0] == (4 << 4 | ROCE_IP4_LEN / 4) &&
           !(roce_be_get(ip + 6, 2) & IP4_FRAGMENT) && ip[9] == ROCE_IPPROTO_UDP &&
           AT_IP4 + roce_be_get(ip + 2, 2) == wire_len &&
           roce_be_get(udp + 2, 2) == ROCE_UDP_PORT &&
           AT_UDP + roce_be_get(udp + 4, 2) == wire_len && ip4_checksum_is_right(ip);
}

/* Sets payload, pad and ICRC of a packet. The caller has checked its lengths. */
static void set_payload_and_icrc(struct roce_pkt *pkt, size_t payload_off)
{
    const uint8_t *frame = pkt->frame;
    uint32_t off = (uint32_t)payload_off, end = pkt->wire_len - ROCE_ICRC_LEN;
    uint32_t captured = pkt->cap_len - off;

    pkt->payload_off = (uint16_t)payload_off;
    pkt->payload_len = end - off - pkt->bth.padcnt;
    pkt->payload_cap_len = captured < pkt->payload_len ? captured : pkt->payload_len;
    pkt->payload = pkt->payload_cap_len ? frame + off : NULL;
    memset(pkt->pad, 0, sizeof(pkt->pad));
    for (uint32_t i = 0, at = off + pkt->payload_len; at < end && at < pkt->cap_len; i++, at++)
        pkt->pad[i] = frame[at];
    pkt->icrc_off = end;
    pkt->end_off = pkt->wire_len;
    pkt->icrc = end + ROCE_ICRC_LEN <= pkt->cap_len ? roce_le32_get(frame + end) : 0;
}

/* Parses the headers after the BTH. All of them must be captured. */
static void parse_ext_headers(struct roce_pkt *pkt)
{
    const struct roce_opcode *op = pkt->op;
    const uint8_t *first = pkt->frame + AT_BTH + ROCE_BTH_LEN;

    /* Most packets that have such headers are ACKs, or WRITEs and READ requests of one packet. */
    if (op->hdrs == ROCE_HDR_BIT(ROCE_HDR_AETH)) {
        pkt->off[ROCE_HDR_AETH] = AT_BTH + ROCE_BTH_LEN;
        roce_aeth_parse(first, &pkt->aeth);
        return;
    }
    if (op->hdrs == ROCE_HDR_BIT(ROCE_HDR_RETH)) {
        pkt->off[ROCE_HDR_RETH] = AT_BTH + ROCE_BTH_LEN;
        roce_reth_parse(first, &pkt->reth);
        return;
    }
    for (unsigned i = 0; i < op->hdr_cnt; i++) {
        enum roce_hdr hdr = op->hdr[i];
        size_t off = AT_BTH + (size_t)op->hdr_off[i];

        pkt->off[hdr] = (uint16_t)off;
        roce_ext_parse(pkt, hdr, pkt->frame + off);
    }
}

bool roce_fast_parse(struct roce_pkt *pkt, const uint8_t *frame, size_t cap_len, size_t wire_len,
                     size_t clear)
{
    const uint8_t *bth = frame + AT_BTH;
    const struct roce_opcode *op;
    size_t room, end;

    if (cap_len < AT_BTH + ROCE_BTH_LEN || cap_len > wire_len ||
        wire_len < AT_BTH + ROCE_BTH_LEN + ROCE_ICRC_LEN || !is_common_envelope(frame, wire_len))
        return false;
    op = roce_opcode(bth[0]);
    end = AT_BTH + (size_t)op->len;
    room = wire_len - ROCE_ICRC_LEN - end;
    if (end > cap_len || end > wire_len - ROCE_ICRC_LEN || room % 4 != 0 ||
        roce_bits_get(bth, 1, 2, 2) > room || roce_bits_get(bth, 1, 4, 4) != 0 ||
        op->kind == ROCE_KIND_RESERVED ||
        !roce_opcode_allows_payload(op, room - (size_t)roce_bits_get(bth, 1, 2, 2)))
        return false;

    if (clear)
        memset(pkt, 0, clear);
    pkt->frame = frame;
    pkt->cap_len = (uint32_t)cap_len;
    pkt->wire_len = (uint32_t)wire_len;
    pkt->link = ROCE_LINK_ETHERNET;
    pkt->encap = ROCE_ENCAP_V2_IP4;
    pkt->op = op;
    pkt->present = HDRS_TO_BTH | op->hdrs;
    pkt->defects = cap_len < wire_len ? UINT32_C(1) << ROCE_DEFECT_CUT : 0;
    pkt->net_off = AT_IP4;
    roce_eth_parse(frame, &pkt->eth);
    roce_ip4_parse(frame + AT_IP4, &pkt->ip4);
    roce_udp_parse(frame + AT_UDP, &pkt->udp);
    roce_bth_parse(bth, &pkt->bth);
    memset(&pkt->aeth, 0, sizeof(pkt->aeth)); /* also clears the padding bytes of the struct,
                                               * because the tests compare packets with memcmp() */
    memset(&pkt->reth, 0, sizeof(pkt->reth));
    memset(pkt->off, 0, sizeof(pkt->off));
    pkt->off[ROCE_HDR_IP4] = AT_IP4;
    pkt->off[ROCE_HDR_UDP] = AT_UDP;
    pkt->off[ROCE_HDR_BTH] = AT_BTH;
    parse_ext_headers(pkt);
    set_payload_and_icrc(pkt, end);
    return true;
}
