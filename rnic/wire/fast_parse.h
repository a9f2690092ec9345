/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Fast parse: parses nearly every packet without branches for rare cases. Such a packet has
 * Ethernet without tags, IPv4 without options or fragments, UDP, correct lengths and checksum, no
 * trailer, all headers captured, and no defect. Private to wire/: users see pkt.h. */
#ifndef ROCE_FAST_PARSE_H
#define ROCE_FAST_PARSE_H

#include "wire/pkt.h"

/* Parses a common frame. Returns false and changes nothing for any other frame; the
 * header-by-header parser then parses that frame. Both parsers give the same result. The function
 * first clears the first `clear` bytes of *pkt. It sets all members before pkt->parsed_fast. After
 * that member, it sets only the headers of the opcode, so the caller must have cleared the other
 * members. */
bool roce_fast_parse(struct roce_pkt *pkt, const uint8_t *frame, size_t cap_len, size_t wire_len,
                     size_t clear);

#endif
