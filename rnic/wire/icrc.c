/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/icrc.h"

#include <stdbool.h>
#include <string.h>
#include "wire/crc32.h"
#include "wire/hdr.h"

/* CRC-32 of the 8 bytes FF that replace the LRH on Ethernet (CA17-22). A test checks this constant.
 */
#define CRC_OF_DUMMY_LRH 0x2144DF1Cu

#define PREFIX_MAX (ROCE_ICRC_BTH_OFF_MAX + ROCE_BTH_LEN)

/*
 * Bits that count as ones in the ICRC of each encapsulation (without IP options), as a list of
 * M(offset of a byte, bits in the byte). Each list expands to two forms: to stores, for packets in
 * writable memory, and to a mask of 64 bytes. The mask covers the longest headers up to byte 4 of
 * the BTH. Because its length is constant, compilers apply it in vector registers.
 *
 * struct mask.len is for a long packet in read-only memory. It is the number of the first bytes, at
 * most 64, that are copied and masked, so it must include the last masked byte. With ISA-L, 48 is
 * fastest (tests/bench/bench_wire).
 */
#define MASK_LEN   ROCE_CRC_ONES
#define PLACES_MAX 16
/* packets up to this length are copied as a whole, to set the masked bits in the copy */
#define SHORT_MAX 128

/* clang-format off */
#define FF        0xFF
#define LRH(M, o) M((o) + 0, FF) M((o) + 1, FF) M((o) + 2, FF) M((o) + 3, FF)  /* bytes 0..3 of the LRH */ \
                  M((o) + 4, FF) M((o) + 5, FF) M((o) + 6, FF) M((o) + 7, FF)  /* bytes 4..7; routers replace the LRH */
#define VL(M, o)  M((o) + 0, 0xF0)                                             /* virtual lane */
#define IP4(M, o) M((o) + 1, FF) M((o) + 8, FF) M((o) + 10, FF) M((o) + 11, FF) /* TOS, TTL, checksum */
#define IP6(M, o) M((o) + 0, 0x0F) M((o) + 1, FF) M((o) + 2, FF) M((o) + 3, FF) /* traffic class, flow label */ \
                  M((o) + 7, FF)                                               /* hop limit; IP6 is also used for a GRH */
#define UDP(M, o) M((o) + 6, FF) M((o) + 7, FF)                                /* UDP checksum */
#define BTH(M, o) M((o) + 4, FF)                                               /* FECN, BECN, reserved (C9-6) */

#define IB_LOCAL(M)  VL(M, 0)  BTH(M, 8)
#define IB_GLOBAL(M) LRH(M, 0) IP6(M, 8)  BTH(M, 48)
#define V1(M)        IP6(M, 0) BTH(M, 40)
#define V2_IP4(M)    IP4(M, 0) UDP(M, 20) BTH(M, 28)
#define V2_IP6(M)    IP6(M, 0) UDP(M, 40) BTH(M, 48)

#define ENVELOPES(X) X(IB_LOCAL) X(IB_GLOBAL) X(V1) X(V2_IP4) X(V2_IP6)

#define IN_MASK(off, ones)  [off] = (ones),
#define ROW(bth_off, len, ENVELOPE) {bth_off, len, {ENVELOPE(IN_MASK)}}

static const struct mask {
    uint8_t bth_off; /* offset of the BTH without options or extension headers */
    uint8_t len;
    uint8_t ff[MASK_LEN];
} masks[] = {
    [ROCE_ENCAP_NONE]      = {0, 0, {0}},
    [ROCE_ENCAP_IB_LOCAL]  = ROW( 8, 48, IB_LOCAL),
    [ROCE_ENCAP_IB_GLOBAL] = ROW(48, 56, IB_GLOBAL),
    [ROCE_ENCAP_V1]        = ROW(40, 48, V1),
    [ROCE_ENCAP_V2_IP4]    = ROW(28, 48, V2_IP4),
    [ROCE_ENCAP_V2_IP6]    = ROW(48, 56, V2_IP6),
};
/* clang-format on */

#define BTH_MASK_LEN 5 /* bytes of the BTH up to the masked byte */

/* Returns the CRC with which the ICRC of an encapsulation begins. On Ethernet, this is the CRC of
 * the 8 bytes that replace the LRH. */
static uint32_t crc_start(enum roce_encap encap)
{
    bool native = encap == ROCE_ENCAP_IB_LOCAL || encap == ROCE_ENCAP_IB_GLOBAL;

    return native ? 0 : CRC_OF_DUMMY_LRH;
}

/* Returns whether the offsets of BTH and ICRC are possible, so that the packet can have an ICRC. */
static bool places_valid(enum roce_encap encap, size_t bth_off, size_t icrc_off)
{
    return encap != ROCE_ENCAP_NONE && bth_off >= masks[encap].bth_off &&
           bth_off <= ROCE_ICRC_BTH_OFF_MAX && icrc_off >= bth_off + ROCE_BTH_LEN;
}

/* Sets the masked bits of the headers to ones in two parts: before the UDP header, and from the UDP
 * header to byte 4 of the BTH. IP options or extension headers may be between the two parts. */
static void put_mask(const struct mask *mask, uint8_t *net, size_t bth_off)
{
    size_t split = mask->bth_off - ROCE_UDP_LEN; /* also right without UDP, because the two
                                                  * parts are then adjacent */

    for (size_t i = 0; i < split; i++)
        net[i] |= mask->ff[i];
    for (size_t i = 0; i < ROCE_UDP_LEN + BTH_MASK_LEN; i++)
        net[bth_off - ROCE_UDP_LEN + i] |= mask->ff[split + i];
}

/* Returns the ICRC of a packet with IPv4 options or IPv6 extension headers. */
static uint32_t icrc_with_options(const struct mask *mask, uint32_t crc, const uint8_t *net,
                                  size_t bth_off, size_t icrc_off)
{
    uint8_t prefix[PREFIX_MAX];
    size_t len = bth_off + ROCE_BTH_LEN;

    memcpy(prefix, net, len);
    put_mask(mask, prefix, bth_off);
    crc = roce_crc32(crc, prefix, len);
    return roce_crc32(crc, net + len, icrc_off - len);
}

static void put_ones(enum roce_encap encap, uint8_t *net)
{
    switch (encap) {
#define ONES(off, ones) net[off] |= (ones);
#define X(NAME)                                                                                    \
    case ROCE_ENCAP_##NAME: NAME(ONES) break;
        ENVELOPES(X)
#undef X
#undef ONES
    case ROCE_ENCAP_NONE: break;
    }
}

/* Returns the ICRC of a short packet. Sets the masked bits to ones in a copy of the whole packet,
 * so that one call of roce_crc32() is enough. A second call would cost as much as the CRC of 100
 * bytes. */
static uint32_t icrc_short(enum roce_encap encap, uint32_t crc, const uint8_t *net, size_t icrc_off)
{
    uint8_t copy[SHORT_MAX];

    memcpy(copy, net, icrc_off);
    put_ones(encap, copy);
    return roce_crc32(crc, copy, icrc_off);
}

/* Copies the first MASK_LEN bytes of a packet and applies the mask. Works in words, because
 * compilers do not vectorize a loop over bytes that checks the bounds of arrays. */
static void mask_prefix(uint8_t prefix[MASK_LEN], const uint8_t *net, const struct mask *mask)
{
    uint64_t words[MASK_LEN / sizeof(uint64_t)], ones[MASK_LEN / sizeof(uint64_t)];

    memcpy(words, net, MASK_LEN);
    memcpy(ones, mask->ff, MASK_LEN);
    for (size_t i = 0; i < MASK_LEN / sizeof(uint64_t); i++)
        words[i] |= ones[i];
    memcpy(prefix, words, MASK_LEN);
}

uint32_t roce_icrc(enum roce_encap encap, const uint8_t *net, size_t bth_off, size_t icrc_off)
{
    const struct mask *mask = &masks[encap];
    uint32_t crc = crc_start(encap);
    uint8_t prefix[MASK_LEN];

    if (!places_valid(encap, bth_off, icrc_off))
        return 0;
    if (bth_off != mask->bth_off)
        return icrc_with_options(mask, crc, net, bth_off, icrc_off);
    if (roce_crc32_ones(&crc, net, icrc_off, mask->ff))
        return crc;
    if (icrc_off <= SHORT_MAX)
        return icrc_short(encap, crc, net, icrc_off);
    mask_prefix(prefix, net, mask);
    crc = roce_crc32(crc, prefix, mask->len);
    return roce_crc32(crc, net + mask->len, icrc_off - mask->len);
}

uint32_t roce_icrc_own(enum roce_encap encap, uint8_t *net, size_t bth_off, size_t icrc_off)
{
    uint8_t saved[PLACES_MAX];
    uint8_t *at = saved;
    uint32_t crc = 0;

    if (!places_valid(encap, bth_off, icrc_off) || bth_off != masks[encap].bth_off)
        return roce_icrc(encap, net, bth_off, icrc_off);
    /* Save the masked bytes, and set their bits to ones, byte by byte. A load of the header
     * into a vector register would have to wait for the stores with which roce_pkt_build() has just
     * written the header: this took a third of the function's time. */
    switch (encap) {
#define SAVE(off, ones) *at++ = net[off], net[off] |= (ones);
#define BACK(off, ones) net[off] = *at++;
#define X(NAME)                                                                                    \
    case ROCE_ENCAP_##NAME:                                                                        \
        NAME(SAVE)                                                                                 \
        crc = roce_crc32(crc_start(encap), net, icrc_off);                                         \
        at = saved;                                                                                \
        NAME(BACK)                                                                                 \
        break;
        ENVELOPES(X)
#undef X
#undef BACK
#undef SAVE
    case ROCE_ENCAP_NONE: break;
    }
    return crc;
}

/* CRC-16 with polynomial x^16 + x^12 + x^3 + x + 1 (0x100B), with initial and final inversion. As
 * for the ICRC, the least significant bit is processed first. */
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
