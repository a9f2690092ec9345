/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Delivery: what a receiver of UC or UD has to make of each packet, read off the packets by the
 * rules alone (R049, R163-R166, R170-R174), with no RNIC in it.
 */
#ifndef REPLAY_ENGINE_DGRAM_EXPECTED_H
#define REPLAY_ENGINE_DGRAM_EXPECTED_H

#include "engine/dgram_stream.h"

/* Bytes before the payload of a datagram in the receive buffer (R172). */
#define DELIVERY_AREA 40u

struct delivery {
    const struct stream *stream;
    bool begun;
    uint32_t epsn;
    bool open;
    enum roce_kind kind;
    uint64_t va; /* of a WRITE */
    uint32_t rkey;
    uint64_t total; /* its length */
    uint64_t off;   /* bytes of the message so far */
};

enum delivery_fate {
    DELIVERY_DROPPED,   /* it leaves no trace */
    DELIVERY_TAKEN,     /* its bytes are stored, the message goes on */
    DELIVERY_WHOLE,     /* ... and the message ends, without a completion: WRITE */
    DELIVERY_COMPLETED, /* ... with a completion */
};

/* What becomes of one packet. */
struct delivered {
    enum delivery_fate fate;
    bool write; /* the bytes go to `va` of `rkey`, else to offset `off` of the receive buffer */
    uint32_t rkey;
    uint64_t va;
    uint64_t off;
    uint32_t byte_len; /* of the completion */
    const char *rule;  /* DROPPED: why */
};

void delivery_init(struct delivery *delivery, const struct stream *stream);

/* The next packet that comes in undamaged. */
struct delivered delivery_take(struct delivery *delivery, const struct roce_pkt *pkt);

#endif
