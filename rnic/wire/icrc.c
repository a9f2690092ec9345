/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/icrc.h"

#include <stdbool.h>
#include <string.h>
#include "wire/crc32.h"
#include "wire/hdr.h"

/* CRC-32 of 8 bytes FF: what stands for the LRH on Ethernet (CA17-22). A test recomputes it. */
#define CRC_OF_DUMMY_LRH 0x2144DF1Cu

#define PREFIX_MAX (ROCE_ICRC_BTH_OFF_MAX + ROCE_BTH_LEN)

/*
 * The variant bits of each envelope in its usual form. 64 bytes hold the longest of them, up to
 * byte 4 of the BTH, and a fixed length lets compilers OR them on in vector registers. `len` is how
 * many of the 64 go through the CRC apart from the rest of the packet: any number behind the last
 * masked byte would do, 48 is the quickest with ISA-L where it suffices (tests/bench/bench_wire).
 */
#define MASK_LEN     64
#define BTH_MASK_LEN 5

/* clang-format off */
#define FF       0xFF
#define IP4_MASK 0, FF, 0, 0,  0, 0, 0, 0,  FF, 0, FF, FF,  0, 0, 0, 0,  0, 0, 0, 0 /* TOS, TTL, checksum */
#define IP6_MASK 0x0F, FF, FF, FF,  0, 0, 0, FF,  /* traffic class, flow label, hop limit; GRH likewise */  \
                 0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,                                         \
                 0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0
#define UDP_MASK 0, 0, 0, 0,  0, 0, FF, FF        /* checksum */
#define BTH_MASK 0, 0, 0, 0,  FF                  /* FECN, BECN, reserved (C9-6) */
#define VL_MASK  0xF0, 0, 0, 0,  0, 0, 0, 0       /* virtual lane */
#define LRH_MASK FF, FF, FF, FF,  FF, FF, FF, FF  /* all of it: a router replaces the LRH */

static const struct mask {
    uint8_t bth_off; /* where the BTH starts in the usual form */
    uint8_t len;
    uint8_t ff[MASK_LEN];
} masks[] = {
    [ROCE_ENCAP_NONE]      = { 0,  0, {0}},
    [ROCE_ENCAP_IB_LOCAL]  = { 8, 48, {VL_MASK,  BTH_MASK}},
    [ROCE_ENCAP_IB_GLOBAL] = {48, 56, {LRH_MASK, IP6_MASK, BTH_MASK}},
    [ROCE_ENCAP_V1]        = {40, 48, {IP6_MASK, BTH_MASK}},
    [ROCE_ENCAP_V2_IP4]    = {28, 48, {IP4_MASK, UDP_MASK, BTH_MASK}},
    [ROCE_ENCAP_V2_IP6]    = {48, 56, {IP6_MASK, UDP_MASK, BTH_MASK}},
};
/* clang-format on */

/* Packets shorter than the mask, and those with options or extension headers between the network
 * header and the UDP header: the mask in two pieces, the second of which ends with the BTH's. */
static uint32_t icrc_odd(const struct mask *mask, uint32_t crc, const uint8_t *net, size_t bth_off,
                         size_t icrc_off)
{
    uint8_t prefix[PREFIX_MAX];
    size_t len = icrc_off <= sizeof(prefix) ? icrc_off : bth_off + ROCE_BTH_LEN;
    size_t split =
        mask->bth_off - ROCE_UDP_LEN; /* without UDP no byte is masked from here to the BTH */

    memcpy(prefix, net, len);
    for (size_t i = 0; i < split; i++)
        prefix[i] |= mask->ff[i];
    for (size_t i = 0; i < ROCE_UDP_LEN + BTH_MASK_LEN; i++)
        prefix[bth_off - ROCE_UDP_LEN + i] |= mask->ff[split + i];
    crc = roce_crc32(crc, prefix, len);
    return roce_crc32(crc, net + len, icrc_off - len);
}

uint32_t roce_icrc(enum roce_encap encap, const uint8_t *net, size_t bth_off, size_t icrc_off)
{
    const struct mask *mask = &masks[encap];
    bool native = encap == ROCE_ENCAP_IB_LOCAL || encap == ROCE_ENCAP_IB_GLOBAL;
    uint32_t crc = native ? 0 : CRC_OF_DUMMY_LRH;
    uint8_t prefix[MASK_LEN];

    if (encap == ROCE_ENCAP_NONE || bth_off < mask->bth_off || bth_off > ROCE_ICRC_BTH_OFF_MAX ||
        icrc_off < bth_off + ROCE_BTH_LEN)
        return 0;
    if (bth_off != mask->bth_off || icrc_off < MASK_LEN)
        return icrc_odd(mask, crc, net, bth_off, icrc_off);
    for (size_t i = 0; i < MASK_LEN; i++)
        prefix[i] = net[i] | mask->ff[i];
    crc = roce_crc32(crc, prefix, mask->len);
    return roce_crc32(crc, net + mask->len, icrc_off - mask->len);
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
