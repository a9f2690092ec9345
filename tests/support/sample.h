/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Samples: packets for tests, made with the builder of wire/pkt.h, and bytes in memory of exactly
 * their length, so that AddressSanitizer sees a read past the end.
 */
#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

#include "rng.h"
#include "wire/pkt.h"

/*
 * A model in which every field that the specification leaves open is random: addresses, VLAN tags,
 * all headers of the opcode. Built and parsed again it has no defect of its own. `payload` stays
 * the caller's. `vlan_cnt` is ignored without Ethernet.
 */
void sample_pkt(struct roce_pkt *pkt, struct rng *rng, enum roce_encap encap, uint8_t opcode,
                unsigned vlan_cnt, const uint8_t *payload, uint32_t payload_len);

/* A payload length that fits `opcode`: what it must be, else `wanted`. */
uint32_t sample_payload_len(uint8_t opcode, uint32_t wanted);

/* The link type a frame of `encap` begins with. */
enum roce_link sample_link(enum roce_encap encap);

/* Decodes `p` into the member of the model that holds `hdr` (of VLAN tags the first), and back. */
void sample_hdr_parse(struct roce_pkt *pkt, enum roce_hdr hdr, const uint8_t *p);
void sample_hdr_build(const struct roce_pkt *pkt, enum roce_hdr hdr, uint8_t *p);

/* A copy of `len` bytes in a block of exactly that size; the caller frees it. Never NULL. */
uint8_t *sample_exact(const uint8_t *p, size_t len);

#endif
