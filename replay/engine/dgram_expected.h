/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Delivery: what a receiver of UC or UD has to make of each packet, read off the packets by the
 * rules alone (R049, R163-R166, R170-R174), with no RNIC in it.
 */
#ifndef REPLAY_ENGINE_DGRAM_EXPECTED_H
#define REPLAY_ENGINE_DGRAM_EXPECTED_H

#include "engine/dgram_stream.h"

/* Bytes before the payload of a datagram in the receive buffer (R172). */
#define GRH_AREA_LEN 40u

struct expected_delivery {
    const struct dgram_stream *stream;
    bool begun;
    uint32_t epsn;
    bool open;
    enum roce_kind kind;
    uint64_t va; /* of a WRITE */
    uint32_t rkey;
    uint64_t total; /* its length */
    uint64_t off;   /* bytes of the message so far */
};

enum rx_outcome {
    RX_DROPPED,    /* it leaves no trace */
    RX_STORED,     /* its bytes are stored, the message goes on */
    RX_WRITE_DONE, /* ... and the message ends, without a completion: WRITE */
    RX_COMPLETED,  /* ... with a completion */
};

/* What becomes of one packet. */
struct rx_result {
    enum rx_outcome outcome;
    bool write; /* the bytes go to `va` of `rkey`, else to offset `off` of the receive buffer */
    uint32_t rkey;
    uint64_t va;
    uint64_t off;
    uint32_t byte_len;       /* of the completion */
    const char *why_dropped; /* DROPPED: why */
};

void expected_delivery_init(struct expected_delivery *delivery, const struct dgram_stream *stream);

/* The next packet that comes in undamaged. */
struct rx_result expected_delivery_next(struct expected_delivery *delivery,
                                        const struct roce_pkt *pkt);

#endif
