/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet text: describes one packet in one line, for decode, the ladder and the report.
 */
#ifndef REPLAY_CAPTURE_PACKET_TEXT_H
#define REPLAY_CAPTURE_PACKET_TEXT_H

#include "util/strbuf.h"
#include "wire/pkt.h"

/* Returns the opcode's name without its service: "SEND First", "READ Response Only". */
const char *packet_text_opcode(uint8_t opcode);

/* Returns the name of an encapsulation: "RoCEv2 over IPv4", "native InfiniBand". */
const char *packet_text_encap(enum roce_encap encap);

/* Appends the operation and the main header fields, without addresses: "RC WRITE First → QP
 * 0x000011 PSN 1024 va 0x7f00 rkey 0x123 len 65536". For a CM message, appends its name. */
void packet_text_full(struct strbuf *t, const struct roce_pkt *pkt);

/* Appends a shorter text for a ladder diagram, without service and QP. Prints `rel`, the distance
 * of the PSN from the first PSN of the connection, instead of the PSN. */
void packet_text_short(struct strbuf *t, const struct roce_pkt *pkt, int64_t rel);

/* Appends "; pad count ..., ICRC wrong ..." with each defect of the packet. Appends nothing for a
 * packet without defects. */
void packet_text_defects(struct strbuf *t, const struct roce_pkt *pkt);

#endif
