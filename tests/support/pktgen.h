/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet generator: packets of one peer on one connection. A struct pktgen contains the properties
 * that all packets share. Each function returns one packet as a struct roce_pkt. A test can change
 * it before it builds the frame.
 */
#ifndef TEST_PKTGEN_H
#define TEST_PKTGEN_H

#include "wire/pkt.h"

struct pktgen {
    enum roce_encap encap;
    uint8_t smac[6];
    uint8_t dmac[6];
    uint8_t sgid[16]; /* GID of the peer */
    uint8_t dgid[16]; /* GID of the device */
    uint16_t sport;
    uint16_t pkey;
    uint32_t dest_qp;
};

/* Initializes the generator with addresses of a peer and a device for `encap` (V1, V2_IP4 or
 * V2_IP6), and with destination QPN 0x11. */
void pktgen_init(struct pktgen *gen, enum roce_encap encap);

/* Returns a packet without payload. All fields of the headers after the BTH are 0. */
struct roce_pkt pktgen_pkt(const struct pktgen *gen, uint8_t opcode, uint32_t psn);

/* Returns a packet with payload. The caller owns the payload and keeps it until the frame is built.
 */
struct roce_pkt pktgen_data(const struct pktgen *gen, uint8_t opcode, uint32_t psn,
                            const void *payload, uint32_t len);

/* Returns a packet with RETH and payload. `opcode` is WRITE First or WRITE Only. */
struct roce_pkt pktgen_write(const struct pktgen *gen, uint8_t opcode, uint32_t psn, uint64_t va,
                             uint32_t rkey, uint32_t dma_len, const void *payload, uint32_t len);

struct roce_pkt pktgen_read(const struct pktgen *gen, uint32_t psn, uint64_t va, uint32_t rkey,
                            uint32_t dma_len);

/* Returns an atomic request; FETCH_ADD ignores `compare`. */
struct roce_pkt pktgen_atomic(const struct pktgen *gen, uint8_t opcode, uint32_t psn, uint64_t va,
                              uint32_t rkey, uint64_t swap_add, uint64_t compare);

/* A frame that was built. If the packet is invalid, which is a mistake of the test, building it
 * ends the test program. */
struct pktgen_frame {
    uint8_t bytes[ROCE_FRAME_MAX];
    size_t len;
};

void pktgen_build(const struct roce_pkt *pkt, struct pktgen_frame *frame);

/* Recomputes the ICRC after a test changed bytes of the frame. Returns true, or false if the frame
 * is not a RoCE packet. */
bool pktgen_seal(struct pktgen_frame *frame);

/* Parses the frame as a receiver does. *pkt points into the frame, which must outlive it. */
void pktgen_parse(const struct pktgen_frame *frame, struct roce_pkt *pkt);

#endif
