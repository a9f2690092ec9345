/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/net/neigh.h"

#include <string.h>
#include "wire/bytes.h"
#include "wire/gid.h"
#include "wire/pkt.h"

#define ETHERTYPE_ARP  0x0806u
#define ARP_REQUEST    1u
#define ARP_REPLY      2u
#define ARP_LEN        28u /* length of an ARP packet for Ethernet and IPv4 */
#define IPPROTO_ICMP6  58u
#define ND_SOLICIT     135u
#define ND_ADVERTISE   136u
#define ND_LEN         24u /* length of a Neighbour Discovery message without options */
#define ND_OPT_SOURCE  1u
#define ND_OPT_TARGET  2u
#define ND_SOLICITED   0x60000000u /* flags of a solicited reply: solicited, override */
#define ND_UNSOLICITED 0x20000000u /* flag of an unsolicited advertisement: override */

static const uint8_t zero[16];

/* ---- ARP frames ------------------------------------------------------------------------------ */

static size_t arp_write(uint8_t *buf, const uint8_t dst[6], unsigned op, const uint8_t mac[6],
                        const uint8_t *ip, const uint8_t target_mac[6], const uint8_t *target_ip)
{
    struct roce_wr wr = roce_wr(buf, RNIC_NEIGH_FRAME_MAX);

    roce_wr_bytes(&wr, dst, 6);
    roce_wr_bytes(&wr, mac, 6);
    roce_wr_be(&wr, 2, ETHERTYPE_ARP);
    roce_wr_be(&wr, 2, 1); /* hardware type Ethernet */
    roce_wr_be(&wr, 2, ROCE_ETHERTYPE_IP4);
    roce_wr_be(&wr, 1, 6);
    roce_wr_be(&wr, 1, 4);
    roce_wr_be(&wr, 2, op);
    roce_wr_bytes(&wr, mac, 6);
    roce_wr_bytes(&wr, ip, 4);
    roce_wr_bytes(&wr, target_mac, 6);
    roce_wr_bytes(&wr, target_ip, 4);
    roce_wr_zero(&wr, 60 - 14 - ARP_LEN); /* padding to the shortest Ethernet frame */
    return 60;
}

static bool arp_read(const uint8_t *arp, size_t len, struct rnic_neigh_msg *out)
{
    struct roce_rd rd = roce_rd(arp, len);
    unsigned op;

    if (len < ARP_LEN || roce_rd_be16(&rd) != 1 || roce_rd_be16(&rd) != ROCE_ETHERTYPE_IP4 ||
        roce_rd_u8(&rd) != 6 || roce_rd_u8(&rd) != 4)
        return false;
    op = roce_rd_be16(&rd);
    memcpy(out->mac, arp + 8, 6);
    if (op == ARP_REQUEST) {
        out->kind = RNIC_NEIGH_ASKS;
        if (memcmp(arp + 14, zero, 4) != 0) /* an ARP probe has no sender address (RFC 5227) */
            roce_gid_of_ip4(arp + 14, out->asker);
        roce_gid_of_ip4(arp + 24, out->target);
    } else if (op == ARP_REPLY) {
        out->kind = RNIC_NEIGH_TELLS;
        roce_gid_of_ip4(arp + 14, out->target);
    } else {
        return false;
    }
    return true;
}

/* ---- Neighbour Discovery frames -------------------------------------------------------------- */

/* Returns the ones' complement sum of the pseudo header and an ICMPv6 message (RFC 8200, 8.1). The
 * sum is 0xffff if the checksum in the message is correct. */
static uint32_t icmp6_sum(const uint8_t *src, const uint8_t *dst, const uint8_t *msg, size_t len)
{
    uint32_t sum = (uint32_t)len + IPPROTO_ICMP6;

    for (unsigned i = 0; i < 16; i += 2) {
        sum += (uint32_t)roce_bits_get(src + i, 0, 0, 16);
        sum += (uint32_t)roce_bits_get(dst + i, 0, 0, 16);
    }
    for (size_t i = 0; i + 1 < len; i += 2)
        sum += (uint32_t)roce_bits_get(msg + i, 0, 0, 16);
    if (len % 2)
        sum += (uint32_t)msg[len - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static size_t nd_write(uint8_t *buf, const uint8_t dmac[6], const uint8_t mac[6],
                       const uint8_t src[16], const uint8_t dst[16], unsigned type, uint32_t flags,
                       const uint8_t target[16], bool option)
{
    struct roce_wr wr = roce_wr(buf, RNIC_NEIGH_FRAME_MAX);
    size_t len = ND_LEN + (option ? 8u : 0u);
    uint8_t *icmp = buf + 14 + 40;

    roce_wr_bytes(&wr, dmac, 6);
    roce_wr_bytes(&wr, mac, 6);
    roce_wr_be(&wr, 2, ROCE_ETHERTYPE_IP6);
    roce_wr_be(&wr, 4, 0x60000000u);
    roce_wr_be(&wr, 2, len);
    roce_wr_be(&wr, 1, IPPROTO_ICMP6);
    roce_wr_be(&wr, 1, 255);
    roce_wr_bytes(&wr, src, 16);
    roce_wr_bytes(&wr, dst, 16);
    roce_wr_be(&wr, 1, type);
    roce_wr_be(&wr, 1, 0);
    roce_wr_be(&wr, 2, 0);
    roce_wr_be(&wr, 4, flags);
    roce_wr_bytes(&wr, target, 16);
    if (option) {
        roce_wr_be(&wr, 1, type == ND_SOLICIT ? ND_OPT_SOURCE : ND_OPT_TARGET);
        roce_wr_be(&wr, 1, 1); /* length of the option in units of 8 bytes */
        roce_wr_bytes(&wr, mac, 6);
    }
    roce_bits_put(icmp, 2, 0, 16, 0xffff ^ icmp6_sum(src, dst, icmp, len));
    return 14 + 40 + len;
}

/* Returns the link-layer address in the Neighbour Discovery option of type `kind`, or NULL if the
 * message has no such option. */
static const uint8_t *nd_option(const uint8_t *icmp, size_t len, unsigned kind)
{
    size_t at = ND_LEN;

    while (len - at >= 8) {
        size_t size = (size_t)icmp[at + 1] * 8;

        if (size == 0 || size > len - at)
            return NULL;
        if (icmp[at] == kind)
            return icmp + at + 2;
        at += size;
    }
    return NULL;
}

static bool nd_read(const uint8_t *frame, size_t left, struct rnic_neigh_msg *out)
{
    const uint8_t *ip = frame + 14;
    const uint8_t *icmp = ip + 40;
    const uint8_t *mac;
    size_t len;

    if (left < 40 + ND_LEN || ip[6] != IPPROTO_ICMP6 || ip[7] != 255)
        return false;
    len = (size_t)roce_bits_get(ip, 4, 0, 16);
    if (len < ND_LEN || len > left - 40 || icmp[1] != 0 ||
        icmp6_sum(ip + 8, ip + 24, icmp, len) != 0xffff)
        return false;
    memcpy(out->target, icmp + 8, 16);
    if (icmp[0] == ND_SOLICIT) {
        out->kind = RNIC_NEIGH_ASKS;
        memcpy(out->asker, ip + 8, 16);
        mac = nd_option(icmp, len, ND_OPT_SOURCE);
    } else if (icmp[0] == ND_ADVERTISE) {
        out->kind = RNIC_NEIGH_TELLS;
        mac = nd_option(icmp, len, ND_OPT_TARGET);
    } else {
        return false;
    }
    /* if the option is missing, use the frame's source address */
    memcpy(out->mac, mac ? mac : frame + 6, 6);
    return true;
}

/* ---- frames of both protocols ---------------------------------------------------------------- */

bool rnic_neigh_read(const uint8_t *frame, size_t len, struct rnic_neigh_msg *out)
{
    unsigned type;
    bool fine = false;

    memset(out, 0, sizeof(*out));
    if (len < 14)
        return false;
    type = (unsigned)roce_bits_get(frame, 12, 0, 16);
    if (type == ETHERTYPE_ARP)
        fine = arp_read(frame + 14, len - 14, out);
    else if (type == ROCE_ETHERTYPE_IP6)
        fine = nd_read(frame, len - 14, out);
    if (!fine)
        out->kind = RNIC_NEIGH_NONE;
    return fine;
}

size_t rnic_neigh_ask(uint8_t buf[RNIC_NEIGH_FRAME_MAX], const uint8_t mac[6],
                      const uint8_t src[16], const uint8_t target[16])
{
    static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    /* solicited-node multicast group of the target (RFC 4291, 2.7.1) and its MAC address */
    const uint8_t group[16] = {0xff, 0x02, 0, 0, 0,    0,          0,          0,
                               0,    0,    0, 1, 0xff, target[13], target[14], target[15]};
    const uint8_t group_mac[6] = {0x33, 0x33, 0xff, target[13], target[14], target[15]};

    if (roce_gid_is_ip4(target))
        return arp_write(buf, broadcast, ARP_REQUEST, mac, src + 12, zero, target + 12);
    return nd_write(buf, group_mac, mac, src, group, ND_SOLICIT, 0, target, true);
}

size_t rnic_neigh_tell(uint8_t buf[RNIC_NEIGH_FRAME_MAX], const uint8_t mac[6],
                       const struct rnic_neigh_msg *question)
{
    static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
    static const uint8_t all_nodes_mac[6] = {0x33, 0x33, 0, 0, 0, 1};
    bool probe = memcmp(question->asker, zero, 16) == 0;

    if (roce_gid_is_ip4(question->target))
        return arp_write(buf, question->mac, ARP_REPLY, mac, question->target + 12, question->mac,
                         question->asker + 12);
    return nd_write(buf, probe ? all_nodes_mac : question->mac, mac, question->target,
                    probe ? all_nodes : question->asker, ND_ADVERTISE,
                    probe ? ND_UNSOLICITED : ND_SOLICITED, question->target, true);
}
