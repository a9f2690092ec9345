/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Fast parse: parses nearly every packet without branches for rare cases. Such a packet has
 * Ethernet without tags, IPv4 without options or fragments, UDP, correct lengths and checksum, no
 * trailer, all headers captured, and no defect. Private to wire/: users see pkt.h. */
#ifndef ROCE_FAST_PARSE_H
#define ROCE_FAST_PARSE_H

#include "wire/pkt.h"

/* Parses a common frame. Returns false and changes nothing for any other frame, which the header-
 * by-header parser then reads with the same result. Members before pkt->parsed_fast are always set.
 * Of the later members only the opcode's headers are set, so the others must be zero: the first
 * `clear` bytes of *pkt are cleared first. */
bool roce_fast_parse(struct roce_pkt *pkt, const uint8_t *frame, size_t cap_len, size_t wire_len,
                     size_t clear);

#endif
