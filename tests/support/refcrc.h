/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * A second implementation of the ICRC that shares no code with wire/icrc.c. It shifts the
 * polynomial one bit at a time over a copy of the packet, whose masked bits are listed as (byte,
 * bit, width).
 */
#ifndef TEST_REFCRC_H
#define TEST_REFCRC_H

#include "wire/pkt.h"

/* Returns the CRC-32 of Ethernet. */
uint32_t ref_crc32(const uint8_t *p, size_t len);

/* Returns whether the ICRC is computed with 1 in place of this bit of a parsed frame, because
 * routers and switches may change the bit. Bit 0 is the most significant bit of byte 0. */
bool ref_masked(const struct roce_pkt *pkt, size_t bit);

/* Returns whether the bit determines how the frame is parsed although the ICRC does not cover it:
 * link next header and packet length of an LRH. */
bool ref_leads(const struct roce_pkt *pkt, size_t bit);

/* Returns the ICRC of a whole parsed packet of any encapsulation except NONE. */
uint32_t ref_icrc(const struct roce_pkt *pkt);

#endif
