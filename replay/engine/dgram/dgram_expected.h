/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Expected delivery: computes how a UC or UD receiver must treat each packet, from the rules of
 * the specification alone (R049, R163-R166, R170-R174). No RNIC is involved.
 *
 * Call expected_delivery_init() once, then expected_delivery_next() for each undamaged packet.
 */
#ifndef REPLAY_ENGINE_DGRAM_DGRAM_EXPECTED_H
#define REPLAY_ENGINE_DGRAM_DGRAM_EXPECTED_H

#include "engine/dgram/dgram_stream.h"

/* Bytes of the receive buffer before the payload of a datagram, which are reserved for a GRH
 * (R172). */
#define GRH_AREA_LEN 40u

struct expected_delivery {
    const struct dgram_stream *stream;
    bool begun;
    uint32_t epsn;
    bool open;
    enum roce_kind kind;
    uint64_t va; /* remote address of the current WRITE */
    uint32_t rkey;
    uint64_t total; /* length of the current WRITE in bytes */
    uint64_t off;   /* bytes of the current message received so far */
};

enum rx_outcome {
    RX_DROPPED,    /* packet dropped silently */
    RX_STORED,     /* the receiver stores the payload; the message continues in the next packet */
    RX_WRITE_DONE, /* last packet of a WRITE: payload stored, no completion */
    RX_COMPLETED,  /* last packet of a message that generates a completion */
};

/* Expected result for one packet. */
struct rx_result {
    enum rx_outcome outcome;
    bool write; /* true: the payload is stored at `va` of the region `rkey`. false: it is stored
                 * at offset `off` of the receive buffer */
    uint32_t rkey;
    uint64_t va;
    uint64_t off;
    uint32_t byte_len;       /* byte count in the completion */
    const char *why_dropped; /* reason for the drop, if RX_DROPPED */
};

void expected_delivery_init(struct expected_delivery *delivery, const struct dgram_stream *stream);

/* Returns how the receiver must treat the next undamaged packet. */
struct rx_result expected_delivery_next(struct expected_delivery *delivery,
                                        const struct roce_pkt *pkt);

#endif
