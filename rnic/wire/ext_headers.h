/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Extension headers: the headers between BTH and payload (RETH, AETH and others). Each header has a
 * member of struct roce_pkt. Private to wire/: other code includes pkt.h.
 */
#ifndef ROCE_EXT_HEADERS_H
#define ROCE_EXT_HEADERS_H

#include "wire/pkt.h"

/* Reads header `hdr` at `p` into its member of *pkt. */
void roce_ext_parse(struct roce_pkt *pkt, enum roce_hdr hdr, const uint8_t *p);

/* Writes header `hdr` to `p` from its member of *pkt. */
void roce_ext_build(const struct roce_pkt *pkt, enum roce_hdr hdr, uint8_t *p);

#endif
