/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite/anonymize.h"

#include <string.h>
#include "wire/bytes.h"
#include "wire/checksum.h"
#include "wire/cm_msg.h"
#include "wire/gid.h"

#define MAC_LEN     6u
#define GUID_LEN    8u
#define GID_LEN     16u
#define IP4_OPT_OFF 20u
#define IP4_NOP     1u /* option 1 is "no operation" (RFC 791) */

/* Number of IPv4 addresses that replace the original ones. The first ones are in 192.0.2.0/24 (RFC
 * 5737), the others in 198.18.0.0/15 (RFC 2544). */
#define TEST_NET_LAST 254u
#define BENCH_NET_CNT (1u << 17)

void anonymizer_init(struct anonymizer *a, const struct trace *trace, bool addresses,
                     const struct payload_masks *masks)
{
    *a = (struct anonymizer){.trace = trace, .addresses = addresses, .masks = masks};
    keymap_init(&a->mac, MAC_LEN);
    keymap_init(&a->ip4, 4);
    keymap_init(&a->ip6, GID_LEN);
    keymap_init(&a->guid, GUID_LEN);
}

void anonymizer_free(struct anonymizer *a)
{
    keymap_free(&a->mac);
    keymap_free(&a->ip4);
    keymap_free(&a->ip6);
    keymap_free(&a->guid);
}

/* ---- replacing addresses -----------------------------------------------------------------------
 */

/* Returns the number of an address: 1 for the first different address, 2 for the second, and so on.
 * Returns 0 if out of memory. */
static uint32_t number_of(struct keymap *map, const void *addr)
{
    uint32_t at = keymap_add(map, addr);

    return at == KEYMAP_NONE ? 0 : at + 1;
}

static bool is_zero(const uint8_t *p, size_t len)
{
    while (len > 0 && *p == 0) {
        p++;
        len--;
    }
    return len == 0;
}

static bool change_mac(struct anonymizer *a, uint8_t *p)
{
    uint32_t n;

    if (p[0] & 1 || is_zero(p, MAC_LEN))
        return true; /* zero, multicast and broadcast addresses are not changed */
    n = number_of(&a->mac, p);
    memset(p, 0, MAC_LEN);
    p[0] = 2; /* the bit that marks a locally administered MAC address */
    roce_bits_put(p, 2, 0, 32, n);
    return n != 0;
}

static bool change_ip4(struct anonymizer *a, uint8_t *p)
{
    uint32_t n;

    if (is_zero(p, 4) || p[0] >= 224)
        return true; /* zero, multicast and broadcast addresses are not changed */
    n = number_of(&a->ip4, p);
    if (n == 0 || n > TEST_NET_LAST + BENCH_NET_CNT)
        return false;
    roce_bits_put(p, 0, 0, 32,
                  n <= TEST_NET_LAST ? UINT32_C(0xC0000200) + n
                                     : UINT32_C(0xC6120000) + n - TEST_NET_LAST - 1);
    return true;
}

static bool change_gid(struct anonymizer *a, uint8_t *p)
{
    bool link = p[0] == 0xFE && (p[1] & 0xC0) == 0x80;
    uint32_t n;

    if (roce_gid_is_ip4(p))
        return change_ip4(a, p + 12);
    if (is_zero(p, GID_LEN) || p[0] == 0xFF)
        return true;
    n = number_of(&a->ip6, p);
    memset(p, 0, GID_LEN);
    roce_bits_put(p, 0, 0, 32, link ? UINT32_C(0xFE800000) : UINT32_C(0x20010DB8));
    roce_bits_put(p, 12, 0, 32, n);
    return n != 0;
}

/* Changes an IP address in the private data of an RDMA IP CM message. An IPv4 address is in the
 * last 4 of the 16 bytes (R242). */
static bool change_cm_ip(struct anonymizer *a, uint8_t *p)
{
    return is_zero(p, 12) ? change_ip4(a, p + 12) : change_gid(a, p);
}

static bool change_guid(struct anonymizer *a, uint8_t *p)
{
    uint32_t n;

    if (is_zero(p, GUID_LEN))
        return true;
    n = number_of(&a->guid, p);
    memset(p, 0, GUID_LEN);
    p[0] = 2;
    roce_bits_put(p, 4, 0, 32, n);
    return n != 0;
}

/* Changes the addresses of the link-layer header. LINKTYPE_LINUX_SLL and _SLL2 of tcpdump.org
 * describe the Linux cooked headers. */
static bool change_link(struct anonymizer *a, enum roce_link link, uint8_t *frame, uint32_t len)
{
    switch (link) {
    case ROCE_LINK_ETHERNET:
        return len < 2 * MAC_LEN || (change_mac(a, frame) && change_mac(a, frame + MAC_LEN));
    case ROCE_LINK_SLL: return len < 6 + MAC_LEN || change_mac(a, frame + 6);
    case ROCE_LINK_SLL2: return len < 12 + MAC_LEN || change_mac(a, frame + 12);
    default: return true;
    }
}

static bool change_network(struct anonymizer *a, const struct roce_pkt *pkt, uint8_t *frame)
{
    uint8_t *ip4 = frame + pkt->off[ROCE_HDR_IP4], *ip6 = frame + pkt->off[ROCE_HDR_IP6];
    uint8_t *grh = frame + pkt->off[ROCE_HDR_GRH];

    if (roce_pkt_has(pkt, ROCE_HDR_IP4)) {
        memset(ip4 + IP4_OPT_OFF, IP4_NOP, pkt->ip4_options_len);
        if (!change_ip4(a, ip4 + 12) || !change_ip4(a, ip4 + 16))
            return false;
    }
    if (roce_pkt_has(pkt, ROCE_HDR_IP6) && (!change_gid(a, ip6 + 8) || !change_gid(a, ip6 + 24)))
        return false;
    return !roce_pkt_has(pkt, ROCE_HDR_GRH) || (change_gid(a, grh + 8) && change_gid(a, grh + 24));
}

/* ---- addresses in CM messages ------------------------------------------------------------------
 */

bool anonymize_knows(const struct roce_pkt *pkt)
{
    struct roce_cm_msg msg;

    return pkt->bth.dest_qp != ROCE_QP_GSI || roce_cm_msg_of_pkt(&msg, pkt) == 0;
}

/* Masks private data (payload_mask.h). No field contains its length, so zeros at its end count as
 * padding and are not masked. */
static void mask_private(struct anonymizer *a, const struct roce_cm_msg *msg, uint8_t *p,
                         uint32_t len)
{
    uint8_t whole[ROCE_MAD_SIZE];
    const struct roce_field *id = roce_field_find(roce_cm_info(msg->kind), "local_comm_id");
    uint64_t number = 0;

    if (id && roce_cm_msg_build(msg, whole, sizeof(whole)) == ROCE_MAD_SIZE)
        number = roce_field_get(id, whole + ROCE_MAD_LEN);
    while (len > 0 && p[len - 1] == 0)
        len--;
    payload_mask_other(a->masks, (uint64_t)msg->kind, number, p, len);
}

static bool change_cm(struct anonymizer *a, const struct roce_pkt *pkt, uint8_t *frame)
{
    const struct roce_hdr_info *info;
    uint8_t *p = frame + pkt->payload_off + ROCE_MAD_LEN;
    struct roce_cm_msg msg;
    uint64_t sid;

    if (pkt->bth.dest_qp != ROCE_QP_GSI || roce_cm_msg_of_pkt(&msg, pkt) != 0)
        return true;
    info = roce_cm_info(msg.kind);
    sid = msg.kind == ROCE_CM_REQ        ? msg.req.service_id
          : msg.kind == ROCE_CM_SIDR_REQ ? msg.sidr_req.service_id
                                         : 0;
    for (uint16_t i = 0; i < info->field_cnt; i++) {
        const struct roce_field *field = &info->fields[i];
        uint8_t *at = p + field->byte;

        if (a->addresses && field->fmt == ROCE_FMT_GID && !change_gid(a, at))
            return false;
        if (a->addresses && strcmp(field->name, "local_ca_guid") == 0 && !change_guid(a, at))
            return false;
        if (a->addresses && strcmp(field->name, "info") == 0)
            memset(at, 0, field->width / 8); /* in some REJs, this field contains an address of
                                              * another port, so set the field to 0 */
        if (strcmp(field->name, "private_data") == 0) {
            uint32_t skip = roce_cm_sid_is_ip(sid) ? ROCE_CM_RDMAIP_LEN : 0;

            if (a->addresses && skip && (!change_cm_ip(a, at + 4) || !change_cm_ip(a, at + 20)))
                return false;
            if (a->masks)
                mask_private(a, &msg, at + skip, field->width / 8 - skip);
        }
    }
    return true;
}

/* ---- updating checksums ------------------------------------------------------------------------
 */

/* One's complement sums of the bytes that the IPv4 and UDP checksums of a frame cover. */
struct sums {
    uint32_t ip4, udp;
};

/* Returns the sums of a frame, not complemented. The UDP checksum also covers the IP addresses (RFC
 * 768, RFC 8200 8.1). */
static struct sums sums_of(const struct roce_pkt *pkt, const uint8_t *frame)
{
    const uint8_t *ip4 = frame + pkt->off[ROCE_HDR_IP4], *ip6 = frame + pkt->off[ROCE_HDR_IP6];
    const uint8_t *udp = frame + pkt->off[ROCE_HDR_UDP];
    struct sums sums = {0};

    if (roce_pkt_has(pkt, ROCE_HDR_IP4)) {
        sums.ip4 = roce_checksum_add(0, ip4, IP4_OPT_OFF + pkt->ip4_options_len);
        sums.udp = roce_checksum_add(0, ip4 + 12, 8);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_IP6))
        sums.udp = roce_checksum_add(0, ip6 + 8, 32);
    if (roce_pkt_has(pkt, ROCE_HDR_UDP))
        sums.udp = roce_checksum_add(sums.udp, udp, pkt->end_off - pkt->off[ROCE_HDR_UDP]);
    return sums;
}

/* Updates a checksum after the sum of the covered bytes has changed from `before` to `after` (RFC
 * 1624). A correct checksum stays correct, and a wrong checksum stays wrong. */
static void move_checksum(uint8_t *at, uint32_t before, uint32_t after)
{
    uint32_t sum = (~(uint32_t)roce_bits_get(at, 0, 0, 16) & 0xFFFF) + after + (~before & 0xFFFF);

    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    roce_bits_put(at, 0, 0, 16, ~sum & 0xFFFF);
}

/* Updates the ICRC: a correct ICRC stays correct, and a wrong ICRC stays wrong. */
static void move_icrc(const struct roce_pkt *pkt, uint32_t before, enum roce_link link,
                      uint8_t *frame, uint32_t cap_len, uint32_t wire_len)
{
    struct roce_pkt now;
    uint32_t after;

    if (roce_pkt_parse(&now, link, frame, cap_len, wire_len) != 0 ||
        roce_pkt_icrc_check(&now, &after) == ROCE_ICRC_UNVERIFIED)
        return;
    roce_le32_put(frame + pkt->icrc_off, pkt->icrc ^ before ^ after);
}

/* ---- changing a frame --------------------------------------------------------------------------
 */

static void mask_payload(struct anonymizer *a, uint32_t idx, const struct roce_pkt *pkt,
                         uint8_t *frame)
{
    const struct trace_packet *p = &a->trace->pkt[idx];

    if (pkt->bth.dest_qp == ROCE_QP_GSI)
        return; /* change_cm() handles this packet */
    if (roce_pkt_has(pkt, ROCE_HDR_IMMDT))
        payload_mask_other(a->masks, (uint64_t)p->flow << 32 | p->psn, 0,
                           frame + pkt->off[ROCE_HDR_IMMDT], ROCE_IMMDT_LEN);
    if (pkt->payload_cap_len == 0)
        return;
    payload_mask_packet(a->masks, idx, 0, frame + pkt->payload_off, pkt->payload_cap_len);
    a->payloads++;
}

int anonymize(struct anonymizer *a, uint32_t idx, enum roce_link link, uint8_t *frame,
              uint32_t cap_len, uint32_t wire_len)
{
    bool whole = cap_len == wire_len;
    struct sums before, after;
    struct roce_pkt pkt;
    uint32_t icrc = 0;
    bool sealed;

    if (roce_pkt_parse(&pkt, link, frame, cap_len, wire_len) != 0)
        return 0;
    whole &= pkt.end_off <= cap_len;
    sealed = roce_pkt_icrc_check(&pkt, &icrc) != ROCE_ICRC_UNVERIFIED;
    if (a->trace->pkt[idx].icrc_fixed)
        pkt.icrc = icrc; /* the new frame gets a correct ICRC: the captured one was wrong because of
                          * a known deviation of the peer */
    before = whole ? sums_of(&pkt, frame) : (struct sums){0};
    if (!change_cm(a, &pkt, frame) || (a->addresses && (!change_link(a, link, frame, cap_len) ||
                                                        !change_network(a, &pkt, frame))))
        return -1;
    if (a->masks)
        mask_payload(a, idx, &pkt, frame);
    if (sealed)
        move_icrc(&pkt, icrc, link, frame, cap_len, wire_len);
    if (!whole)
        return 0;
    memset(frame + pkt.end_off, 0, cap_len - pkt.end_off); /* the bytes after the RoCE packet may
                                                            * contain private data */
    after = sums_of(&pkt, frame);
    if (roce_pkt_has(&pkt, ROCE_HDR_IP4))
        move_checksum(frame + pkt.off[ROCE_HDR_IP4] + ROCE_IP4_CSUM, before.ip4, after.ip4);
    /* The new UDP checksum does not change the ICRC: the ICRC is computed as if all bits of the UDP
     * checksum were 1. */
    if (roce_pkt_has(&pkt, ROCE_HDR_UDP) && pkt.udp.csum != 0)
        move_checksum(frame + pkt.off[ROCE_HDR_UDP] + ROCE_UDP_CSUM, before.udp, after.udp);
    return 0;
}
