/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "refcrc.h"

#include <stdlib.h>

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

/* Returns the CRC-32, computed by polynomial division, one bit at a time. The bits of a byte are
 * processed from the least significant on. At the end the remainder is complemented and its bits
 * are reversed. */
uint32_t ref_crc32(const uint8_t *p, size_t len)
{
    uint32_t reg = 0xFFFFFFFF, out = 0;

    for (size_t i = 0; i < len * 8; i++) {
        uint32_t in = p[i / 8] >> (i % 8) & 1;

        reg = reg << 1 ^ ((reg >> 31 ^ in) ? 0x04C11DB7u : 0);
    }
    for (int i = 0; i < 32; i++)
        out |= (reg >> i & 1) << (31 - i);
    return ~out;
}

/* clang-format off */

/* Fields that routers and switches are allowed to change, so the ICRC is computed with ones in
 * their place: {header, byte in the header, bit, width}. */
static const struct {
    enum roce_hdr hdr;
    unsigned byte, bit, width;
} masks[] = {
    {ROCE_HDR_LRH,  0, 0,  4}, /* virtual lane; with a GRH, routers replace the whole LRH */
    {ROCE_HDR_GRH,  0, 4,  8}, /* traffic class */
    {ROCE_HDR_GRH,  1, 4, 20}, /* flow label */
    {ROCE_HDR_GRH,  7, 0,  8}, /* hop limit */
    {ROCE_HDR_IP4,  1, 0,  8}, /* TOS field */
    {ROCE_HDR_IP4,  8, 0,  8}, /* TTL field */
    {ROCE_HDR_IP4, 10, 0, 16}, /* header checksum */
    {ROCE_HDR_IP6,  0, 4,  8}, /* traffic class */
    {ROCE_HDR_IP6,  1, 4, 20}, /* flow label */
    {ROCE_HDR_IP6,  7, 0,  8}, /* hop limit */
    {ROCE_HDR_UDP,  6, 0, 16}, /* UDP checksum */
    {ROCE_HDR_BTH,  4, 0,  8}, /* FECN, BECN, reserved */
};
/* clang-format on */

bool ref_masked(const struct roce_pkt *pkt, size_t bit)
{
    if (pkt->encap == ROCE_ENCAP_IB_GLOBAL && bit < ROCE_LRH_LEN * 8u)
        return true;
    for (size_t i = 0; i < CNT(masks); i++) {
        size_t first = (pkt->off[masks[i].hdr] + masks[i].byte) * (size_t)8 + masks[i].bit;

        if (roce_pkt_has(pkt, masks[i].hdr) && bit >= first && bit < first + masks[i].width)
            return true;
    }
    return false;
}

bool ref_leads(const struct roce_pkt *pkt, size_t bit)
{
    return roce_pkt_has(pkt, ROCE_HDR_LRH) && ((bit >= 14 && bit < 16) || (bit >= 37 && bit < 48));
}

uint32_t ref_icrc(const struct roce_pkt *pkt)
{
    bool native = pkt->encap == ROCE_ENCAP_IB_LOCAL || pkt->encap == ROCE_ENCAP_IB_GLOBAL;
    size_t dummy = native ? 0 : 8, len = pkt->icrc_off - pkt->net_off;
    uint8_t *p = malloc(dummy + len);
    uint32_t crc;

    if (!p)
        abort();
    memset(p, 0xFF, dummy);
    memcpy(p + dummy, pkt->frame + pkt->net_off, len);
    for (size_t b = 0; b < len * 8; b++)
        if (ref_masked(pkt, pkt->net_off * (size_t)8 + b))
            p[dummy + b / 8] |= (uint8_t)(0x80 >> b % 8);
    crc = ref_crc32(p, dummy + len);
    free(p);
    return crc;
}
