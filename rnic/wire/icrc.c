/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/icrc.h"

#include <string.h>
#include "wire/crc32.h"
#include "wire/hdr.h"

/* CRC-32 of 8 bytes FF: what stands for the LRH on Ethernet (CA17-22). A test recomputes it. */
#define CRC_OF_DUMMY_LRH 0x2144DF1Cu

#define PREFIX_MAX (ROCE_ICRC_BTH_OFF_MAX + ROCE_BTH_LEN)

/* Sets the variant fields of an IPv6 header, or of a GRH, which has the same form, to ones: traffic
 * class and flow label around the kept version nibble, hop limit. */
static void mask_ip6(uint8_t *ip)
{
    ip[0] |= 0x0F;
    ip[1] = ip[2] = ip[3] = 0xFF;
    ip[7] = 0xFF;
}

/* TOS, TTL, header checksum. */
static void mask_ip4(uint8_t *ip)
{
    ip[1] = 0xFF;
    ip[8] = 0xFF;
    ip[10] = ip[11] = 0xFF;
}

/* The UDP checksum; the UDP header is the one right before the BTH. */
static void mask_udp(uint8_t *bth)
{
    bth[-2] = bth[-1] = 0xFF;
}

uint32_t roce_icrc(enum roce_encap encap, const uint8_t *net, size_t bth_off, size_t icrc_off)
{
    uint8_t prefix[PREFIX_MAX];
    size_t prefix_len = bth_off + ROCE_BTH_LEN;
    uint32_t crc = CRC_OF_DUMMY_LRH;

    if (encap == ROCE_ENCAP_NONE || prefix_len > sizeof(prefix) || icrc_off < prefix_len)
        return 0;
    memcpy(prefix, net, prefix_len);
    prefix[bth_off + 4] = 0xFF; /* FECN, BECN, reserved (C9-6) */
    switch (encap) {
    case ROCE_ENCAP_NONE: break;
    case ROCE_ENCAP_IB_LOCAL: /* VL */
        prefix[0] |= 0xF0;
        crc = 0;
        break;
    case ROCE_ENCAP_IB_GLOBAL: /* a router replaces the LRH */
        memset(prefix, 0xFF, ROCE_LRH_LEN);
        mask_ip6(prefix + ROCE_LRH_LEN);
        crc = 0;
        break;
    case ROCE_ENCAP_V1: mask_ip6(prefix); break;
    case ROCE_ENCAP_V2_IP4:
        mask_ip4(prefix);
        mask_udp(prefix + bth_off);
        break;
    case ROCE_ENCAP_V2_IP6:
        mask_ip6(prefix);
        mask_udp(prefix + bth_off);
        break;
    }
    crc = roce_crc32(crc, prefix, prefix_len);
    return roce_crc32(crc, net + prefix_len, icrc_off - prefix_len);
}

/* CRC-16 with polynomial x^16 + x^12 + x^3 + x + 1 (0x100B), least significant bit first like the
 * ICRC, initial and final inversion. */
uint16_t roce_vcrc(const uint8_t *lrh, size_t len)
{
    uint16_t crc = 0xFFFF;

    for (size_t i = 0; i < len; i++) {
        crc ^= lrh[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc >> 1 ^ (crc & 1 ? 0xD008 : 0));
    }
    return (uint16_t)~crc;
}
