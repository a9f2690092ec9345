/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Reference CRC: a second implementation of the ICRC, which tests compare with wire/icrc.c. It
 * shares no code with wire/icrc.c: it processes one bit at a time, and lists the masked fields as
 * (byte, bit, width).
 */
#ifndef TEST_REFCRC_H
#define TEST_REFCRC_H

#include "wire/pkt.h"

/* Returns the CRC-32 of `len` bytes, as Ethernet uses it. */
uint32_t ref_crc32(const uint8_t *p, size_t len);

/* Returns whether this bit of a parsed frame is masked: the ICRC is computed with 1 in its place,
 * because routers and switches may change the bit. Bit 0 is the most significant bit of byte 0. */
bool ref_masked(const struct roce_pkt *pkt, size_t bit);

/* Returns whether the bit affects how the frame is parsed, although the ICRC does not cover it.
 * This is true for the bits of two fields of an LRH: link next header and packet length. */
bool ref_leads(const struct roce_pkt *pkt, size_t bit);

/* Returns the ICRC of a whole parsed packet of any encapsulation except NONE. */
uint32_t ref_icrc(const struct roce_pkt *pkt);

#endif
