/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Samples: random packets made with the builder of wire/pkt.h. Each packet is in a block of exactly
 * its length, so AddressSanitizer detects a read past the end.
 */
#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

#include "rng.h"
#include "wire/pkt.h"

/*
 * Fills a model with random values where the specification allows any: addresses, VLAN tags, all
 * headers of the opcode. The built packet has no defect. The caller owns `payload`. `vlan_cnt` is
 * ignored without Ethernet.
 */
void sample_pkt(struct roce_pkt *pkt, struct rng *rng, enum roce_encap encap, uint8_t opcode,
                unsigned vlan_cnt, const uint8_t *payload, uint32_t payload_len);

/* Returns a payload length that is valid for `opcode`: `wanted`, if that length is valid. */
uint32_t sample_payload_len(uint8_t opcode, uint32_t wanted);

/* Returns the link type that a frame of `encap` begins with. */
enum roce_link sample_link(enum roce_encap encap);

/* Decode `p` into the member of the model for header `hdr` (the first VLAN tag, if there are
 * several), and encode it. */
void sample_hdr_parse(struct roce_pkt *pkt, enum roce_hdr hdr, const uint8_t *p);
void sample_hdr_build(const struct roce_pkt *pkt, enum roce_hdr hdr, uint8_t *p);

/* Returns a copy of `len` bytes in a block of exactly that size, never NULL. The caller frees it.
 */
uint8_t *sample_exact(const uint8_t *p, size_t len);

#endif
