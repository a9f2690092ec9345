/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Extension headers: the headers between BTH and payload (RETH, AETH, ...), each read into and
 * written from its member of struct roce_pkt. Private to wire/: users see pkt.h.
 */
#ifndef ROCE_EXT_HEADERS_H
#define ROCE_EXT_HEADERS_H

#include "wire/pkt.h"

/* Reads header `hdr`, whose bytes are at `p`, into its member. */
void roce_ext_parse(struct roce_pkt *pkt, enum roce_hdr hdr, const uint8_t *p);

/* Writes header `hdr` from its member to `p`. */
void roce_ext_build(const struct roce_pkt *pkt, enum roce_hdr hdr, uint8_t *p);

#endif
