/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Samples: random packets made with the builder of wire/pkt.h. sample_exact() copies a frame to a
 * block of exactly its length, so that AddressSanitizer detects a read past the end.
 */
#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

#include "rng.h"
#include "wire/pkt.h"

/*
 * Fills *pkt with random values wherever the specification allows any value: addresses, VLAN tags,
 * all headers of the opcode. The frame built from it has no defect. The caller owns `payload`.
 * `vlan_cnt` is the number of VLAN tags; ignored if `encap` has no Ethernet header.
 */
void sample_pkt(struct roce_pkt *pkt, struct rng *rng, enum roce_encap encap, uint8_t opcode,
                unsigned vlan_cnt, const uint8_t *payload, uint32_t payload_len);

/* Returns a valid payload length for `opcode`: `wanted` if it is valid, or another length. */
uint32_t sample_payload_len(uint8_t opcode, uint32_t wanted);

/* Returns the link type that roce_pkt_parse() needs for a frame of `encap`. */
enum roce_link sample_link(enum roce_encap encap);

/* sample_hdr_parse() decodes the header `hdr` at `p` into its member of *pkt. sample_hdr_build()
 * encodes this member. With several VLAN tags, both use the first. */
void sample_hdr_parse(struct roce_pkt *pkt, enum roce_hdr hdr, const uint8_t *p);
void sample_hdr_build(const struct roce_pkt *pkt, enum roce_hdr hdr, uint8_t *p);

/* Returns a copy of `len` bytes in a block of exactly that size, never NULL. The caller frees it.
 */
uint8_t *sample_exact(const uint8_t *p, size_t len);

#endif
