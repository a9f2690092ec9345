/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * A second implementation of the ICRC that shares nothing with wire/icrc.c: a shift register of the
 * polynomial, one bit at a time, over a copy whose masked bits are listed by (byte, bit, width).
 */
#ifndef TEST_REFCRC_H
#define TEST_REFCRC_H

#include "wire/pkt.h"

/* CRC-32 of Ethernet. */
uint32_t ref_crc32(const uint8_t *p, size_t len);

/* Whether bit `bit` (0 = most significant bit of byte 0) of a parsed frame is one that the ICRC
 * replaces by one: routers and switches may change it. */
bool ref_masked(const struct roce_pkt *pkt, size_t bit);

/* Whether that bit, although masked or outside of what the ICRC covers, leads the parser elsewhere:
 * link next header and packet length of an LRH. */
bool ref_leads(const struct roce_pkt *pkt, size_t bit);

/* The ICRC of a whole parsed packet of any encapsulation but NONE. */
uint32_t ref_icrc(const struct roce_pkt *pkt);

#endif
