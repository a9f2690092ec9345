/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Fast parse: parses the usual packets, which are nearly all, without branches for rare cases. Such
 * a packet has Ethernet without tags, IPv4 without options or fragments, UDP, correct lengths and
 * checksum, no trailer, all headers captured, and no defect. Private to wire/: other code includes
 * pkt.h. */
#ifndef ROCE_FAST_PARSE_H
#define ROCE_FAST_PARSE_H

#include "wire/pkt.h"

/*
 * Parses a usual frame and returns true. For any other frame, returns false and changes nothing.
 * The caller then parses the frame header by header, which gives the same result for a usual frame.
 *
 * The function first clears the first `clear` bytes of *pkt. Then it sets all members that struct
 * roce_pkt declares above parsed_fast. Of the members below parsed_fast, it sets only the headers
 * of the opcode; the caller must have cleared the others.
 */
bool roce_fast_parse(struct roce_pkt *pkt, const uint8_t *frame, size_t cap_len, size_t wire_len,
                     size_t clear);

#endif
