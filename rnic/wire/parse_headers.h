/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parse of the transport headers alone, for a packet that roce_pkt_parse() parsed before. Called by
 * replay/infer/trace.c. */
#ifndef ROCE_PARSE_HEADERS_H
#define ROCE_PARSE_HEADERS_H

#include "wire/pkt.h"

/* Parses only the BTH at `bth` and the headers of its opcode, which takes a fraction of the time of
 * roce_pkt_parse(). All of these headers must be readable. Of the
 * other members of *pkt, sets only op, present, defects, and all other transport headers, to
 * zero. */
void roce_pkt_parse_headers(struct roce_pkt *pkt, const uint8_t *bth);

#endif
