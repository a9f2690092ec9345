/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DC: packets of NVIDIA's (Mellanox') dynamically connected transport, which stands in no
 * specification and uses the opcodes of reliable datagrams.
 *
 * What is known of it are the lengths and contents of packets that ConnectX sent: twenty bytes
 * follow the BTH, a byte that is not 0 and a QP number first; then come the headers of the RC
 * opcode that has the same low five bits, and a payload of one path MTU where that has one.
 * Reliable datagrams have a RDETH there, whose first byte is reserved and 0.
 */
#ifndef ROCE_DC_H
#define ROCE_DC_H

#include "ws_compat.h"
#include "line.h"
#include "wire/pkt.h"

void roce_dc_register(int proto);

/* Whether it is one, and not of reliable datagrams. */
bool roce_dc_is(const struct roce_pkt *pkt);

/* "DC WRITE Only 0x009036→0x807fff PSN 278780 len 8", written to `text`, which starts empty. */
const char *roce_dc_text(struct line *text, const struct roce_pkt *pkt);

/* Bytes of payload, without pad; 0 if the packet has not even the headers. */
uint32_t roce_dc_payload_len(const struct roce_pkt *pkt);

/* Adds what follows the BTH, as far as the tvb has it; pkt->frame starts at `base` of it. Returns
 * the offset of the payload in the tvb. */
int roce_dc_add(const struct roce_pkt *pkt, tvbuff_t *tvb, int base, packet_info *pinfo,
                proto_tree *tree);

#endif
