/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * ICRC: the invariant CRC that ends every packet, and VCRC, the variant CRC of a native link.
 *
 * ICRC is the CRC-32 of Ethernet over the packet with the fields that routers may change set to
 * ones (Annex A17, CA17-22; C9-6 for BTH byte 4):
 *
 *   local      LRH with VL = 1111, BTH byte 4 = FF, the rest
 *   global     LRH all ones (routers replace it), GRH as below, BTH byte 4, the rest
 *   RoCEv1     8 bytes FF, GRH with traffic class, flow label, hop limit = ones, BTH byte 4,
 *              the rest
 *   IPv4       8 bytes FF, IP with TOS, TTL, checksum = ones, UDP with checksum = FFFF, BTH
 *              byte 4, the rest
 *   IPv6       8 bytes FF, IP with traffic class, flow label, hop limit = ones, UDP and BTH
 *              as above
 *
 * The CRC ends with the byte before the ICRC. The ICRC is stored least significant byte first.
 */
#ifndef ROCE_ICRC_H
#define ROCE_ICRC_H

#include <stddef.h>
#include <stdint.h>

/* Encapsulation of the InfiniBand transport. */
enum roce_encap {
    ROCE_ENCAP_NONE,      /* bare BTH, without envelope and ICRC */
    ROCE_ENCAP_IB_LOCAL,  /* native InfiniBand with LRH */
    ROCE_ENCAP_IB_GLOBAL, /* native InfiniBand with LRH and GRH */
    ROCE_ENCAP_V1,        /* RoCEv1: Ethernet type 0x8915, GRH */
    ROCE_ENCAP_V2_IP4,    /* RoCEv2: IPv4, UDP 4791 */
    ROCE_ENCAP_V2_IP6,    /* RoCEv2: IPv6, UDP 4791 */
};

/* Maximum distance from the first byte covered by the ICRC to the BTH, bytes. This is enough for
 * LRH and GRH, for IPv4 with all options and UDP, and for IPv6 with some extension headers. */
#define ROCE_ICRC_BTH_OFF_MAX 128

/* Returns the ICRC of a packet, or 0 for ROCE_ENCAP_NONE. `net` points to the first covered byte
 * (LRH, GRH or IP header). The BTH starts at `bth_off`, at most ROCE_ICRC_BTH_OFF_MAX, and the ICRC
 * field at `icrc_off` >= bth_off + 12. All bytes before the ICRC field are readable. */
uint32_t roce_icrc(enum roce_encap encap, const uint8_t *net, size_t bth_off, size_t icrc_off);

/* Returns the ICRC of a packet in writable memory. Sets to ones the bits of the packet that count
 * as ones in the ICRC, computes the CRC in one pass, and restores the bits. */
uint32_t roce_icrc_own(enum roce_encap encap, uint8_t *net, size_t bth_off, size_t icrc_off);

/* Returns the VCRC (CRC-16, polynomial 0x100B) of the `len` bytes from LRH to ICRC. */
uint16_t roce_vcrc(const uint8_t *lrh, size_t len);

#endif
