/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet generator: the packets of one peer on one connection, for tests. A struct pktgen holds
 * what all of them share; each function returns the model of one packet, in which a test may change
 * what it likes before it is built.
 */
#ifndef TEST_PKTGEN_H
#define TEST_PKTGEN_H

#include "wire/pkt.h"

struct pktgen {
    enum roce_encap encap;
    uint8_t smac[6];
    uint8_t dmac[6];
    uint8_t sgid[16]; /* the peer's */
    uint8_t dgid[16]; /* the device's */
    uint16_t sport;
    uint16_t pkey;
    uint32_t dest_qp;
};

/* A peer and a device with addresses that fit `encap` (V1, V2_IP4 or V2_IP6), to QPN 0x11. */
void pktgen_init(struct pktgen *gen, enum roce_encap encap);

/* A packet without payload; headers after the BTH are zero. */
struct roce_pkt pktgen_pkt(const struct pktgen *gen, uint8_t opcode, uint32_t psn);

/* With payload, which stays the caller's until the packet is built. */
struct roce_pkt pktgen_data(const struct pktgen *gen, uint8_t opcode, uint32_t psn,
                            const void *payload, uint32_t len);

/* A WRITE First or Only. */
struct roce_pkt pktgen_write(const struct pktgen *gen, uint8_t opcode, uint32_t psn, uint64_t va,
                             uint32_t rkey, uint32_t dma_len, const void *payload, uint32_t len);

struct roce_pkt pktgen_read(const struct pktgen *gen, uint32_t psn, uint64_t va, uint32_t rkey,
                            uint32_t dma_len);

/* `compare` means nothing to a FETCH_ADD. */
struct roce_pkt pktgen_atomic(const struct pktgen *gen, uint8_t opcode, uint32_t psn, uint64_t va,
                              uint32_t rkey, uint64_t swap_add, uint64_t compare);

/* A frame. Ends the program if the model cannot be built: a test's own mistake. */
struct pktgen_frame {
    uint8_t bytes[ROCE_FRAME_MAX];
    size_t len;
};

void pktgen_build(const struct roce_pkt *pkt, struct pktgen_frame *frame);

/* Computes the ICRC anew after bytes of a frame were changed; false if it is no packet. */
bool pktgen_seal(struct pktgen_frame *frame);

/* What a receiver's parser makes of the frame, which must stay as long as *pkt is used. */
void pktgen_parse(const struct pktgen_frame *frame, struct roce_pkt *pkt);

#endif
