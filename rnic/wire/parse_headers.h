/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parses only the transport headers of a packet that roce_pkt_parse() has parsed before. Called by
 * replay/infer/trace.c. */
#ifndef ROCE_PARSE_HEADERS_H
#define ROCE_PARSE_HEADERS_H

#include "wire/pkt.h"

/* Parses only the headers that follow the BTH at `bth`, which takes a fraction of the time of
 * roce_pkt_parse(). All of these headers must be readable. Sets the other headers of requests and
 * responses to zero. Of the other members of *pkt, sets only op, present and defects. */
void roce_pkt_parse_headers(struct roce_pkt *pkt, const uint8_t *bth);

#endif
