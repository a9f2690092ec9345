/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sample.h"

#include <stdlib.h>

void sample_hdr_parse(struct roce_pkt *pkt, enum roce_hdr hdr, const uint8_t *p)
{
    switch (hdr) {
#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    case ROCE_HDR_##ID:                                                                            \
        roce_##id##_parse(p, (void *)&pkt->id);                                                    \
        break;
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/headers.def"
    case ROCE_HDR_CNT: break;
    }
}

void sample_hdr_build(const struct roce_pkt *pkt, enum roce_hdr hdr, uint8_t *p)
{
    switch (hdr) {
#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    case ROCE_HDR_##ID:                                                                            \
        roce_##id##_build((const void *)&pkt->id, p);                                              \
        break;
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/headers.def"
    case ROCE_HDR_CNT: break;
    }
}

enum roce_link sample_link(enum roce_encap encap)
{
    switch (encap) {
    case ROCE_ENCAP_NONE: return ROCE_LINK_BTH;
    case ROCE_ENCAP_IB_LOCAL:
    case ROCE_ENCAP_IB_GLOBAL: return ROCE_LINK_IB;
    default: return ROCE_LINK_ETHERNET;
    }
}

uint32_t sample_payload_len(uint8_t opcode, uint32_t wanted)
{
    switch (roce_opcode(opcode)->payload) {
    case ROCE_PAYLOAD_NONE: return 0;
    case ROCE_PAYLOAD_8: return 8;
    default: return wanted;
    }
}

/* Sets random values in the fields of the headers before the BTH. Does not change fields that
 * select the next header or have only one valid value. */
static void random_envelope(struct roce_pkt *pkt, struct rng *rng, unsigned vlan_cnt)
{
    uint16_t type = pkt->eth.type;

    rng_fill(rng, pkt->eth.dst, sizeof(pkt->eth.dst));
    rng_fill(rng, pkt->eth.src, sizeof(pkt->eth.src));
    if (type && vlan_cnt) {
        pkt->vlan_cnt = (uint8_t)vlan_cnt;
        pkt->present |= ROCE_HDR_BIT(ROCE_HDR_VLAN);
        pkt->eth.type = vlan_cnt > 1 ? ROCE_ETHERTYPE_QINQ : ROCE_ETHERTYPE_VLAN;
        for (unsigned i = 0; i < vlan_cnt; i++) {
            pkt->vlan[i].pcp = rng_below(rng, 8) & 7;
            pkt->vlan[i].dei = rng_below(rng, 2) & 1;
            pkt->vlan[i].vid = rng_below(rng, 4096) & 0xFFF;
            pkt->vlan[i].type = i + 1 < vlan_cnt ? ROCE_ETHERTYPE_VLAN : type;
        }
    }
    pkt->lrh.vl = rng_below(rng, 16) & 15;
    pkt->lrh.sl = rng_below(rng, 16) & 15;
    pkt->lrh.dlid = (uint16_t)rng_u64(rng);
    pkt->lrh.slid = (uint16_t)rng_u64(rng);
    pkt->grh.tclass = (uint8_t)rng_u64(rng);
    pkt->grh.flow = rng_below(rng, 1 << 20);
    pkt->grh.hop = (uint8_t)rng_u64(rng);
    rng_fill(rng, pkt->grh.sgid, sizeof(pkt->grh.sgid));
    rng_fill(rng, pkt->grh.dgid, sizeof(pkt->grh.dgid));
    pkt->ip4.dscp = rng_below(rng, 64) & 63;
    pkt->ip4.ecn = rng_below(rng, 4) & 3;
    pkt->ip4.id = (uint16_t)rng_u64(rng);
    pkt->ip4.ttl = (uint8_t)rng_u64(rng);
    rng_fill(rng, pkt->ip4.src, sizeof(pkt->ip4.src));
    rng_fill(rng, pkt->ip4.dst, sizeof(pkt->ip4.dst));
    pkt->ip6.dscp = rng_below(rng, 64) & 63;
    pkt->ip6.ecn = rng_below(rng, 4) & 3;
    pkt->ip6.flow = rng_below(rng, 1 << 20);
    pkt->ip6.hop = (uint8_t)rng_u64(rng);
    rng_fill(rng, pkt->ip6.src, sizeof(pkt->ip6.src));
    rng_fill(rng, pkt->ip6.dst, sizeof(pkt->ip6.dst));
    pkt->udp.sport = (uint16_t)rng_u64(rng);
    pkt->udp.csum = (uint16_t)rng_u64(rng);
}

void sample_pkt(struct roce_pkt *pkt, struct rng *rng, enum roce_encap encap, uint8_t opcode,
                unsigned vlan_cnt, const uint8_t *payload, uint32_t payload_len)
{
    const struct roce_opcode *op = roce_opcode(opcode);
    uint8_t bytes[64];

    roce_pkt_init(pkt, encap, opcode);
    random_envelope(pkt, rng, vlan_cnt);
    for (unsigned i = 0; i < op->hdr_cnt; i++) {
        rng_fill(rng, bytes, sizeof(bytes));
        sample_hdr_parse(pkt, (enum roce_hdr)op->hdr[i], bytes);
    }
    rng_fill(rng, bytes, sizeof(bytes));
    roce_bth_parse(bytes, &pkt->bth);
    pkt->bth.opcode = opcode;
    pkt->bth.tver = 0;
    pkt->bth.padcnt = 0;
    pkt->payload = payload_len ? payload : NULL;
    pkt->payload_len = payload_len;
}

uint8_t *sample_exact(const uint8_t *p, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);

    if (!copy)
        abort();
    if (len)
        memcpy(copy, p, len);
    return copy;
}
