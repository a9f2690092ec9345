/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Usual: nearly every packet, read in straight lines: Ethernet without tags, IPv4 without options
 * or fragments, UDP, lengths and checksum right and nothing behind, all headers captured, and
 * nothing to say of its form. Private to wire/: users see pkt.h.
 */
#ifndef ROCE_FAST_PARSE_H
#define ROCE_FAST_PARSE_H

#include "wire/pkt.h"

/*
 * False and nothing written for any other frame, which the walk from header to header then reads;
 * what is set here, that sets to the same. Members before pkt->usual are set whatever they were; of
 * those from there on only the opcode's headers are, so that the others have to be 0: `clear` bytes
 * of *pkt are cleared before.
 */
bool roce_fast_parse(struct roce_pkt *pkt, const uint8_t *frame, size_t cap_len, size_t wire_len,
                     size_t clear);

#endif
