/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * A second implementation of the ICRC that shares nothing with wire/icrc.c: a shift register of
 * the polynomial, one bit at a time, over a copy whose masked bits are listed by (byte, bit,
 * width).
 */
#ifndef TEST_REFCRC_H
#define TEST_REFCRC_H

#include "wire/pkt.h"

/* Returns the CRC-32 of Ethernet. */
uint32_t ref_crc32(const uint8_t *p, size_t len);

/* Returns whether the ICRC computation replaces a bit of a parsed frame by one, because routers and
 * switches may change it. Bit 0 is the most significant bit of byte 0. */
bool ref_masked(const struct roce_pkt *pkt, size_t bit);

/* Returns whether a bit that the ICRC does not cover changes how the frame is parsed: the link next
 * header and packet length of an LRH. */
bool ref_leads(const struct roce_pkt *pkt, size_t bit);

/* Returns the ICRC of a whole parsed packet of any encapsulation except NONE. */
uint32_t ref_icrc(const struct roce_pkt *pkt);

#endif
