/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram message: infers from the captured packets which messages a UC or UD sender must have
 * posted.
 */
#ifndef REPLAY_ENGINE_DGRAM_DGRAM_MESSAGE_H
#define REPLAY_ENGINE_DGRAM_DGRAM_MESSAGE_H

#include "engine/dgram/dgram_stream.h"

struct dgram_message {
    size_t from, to;        /* range of the message's packets in stream.pkt: from <= index < to. The
                             * range includes damaged and duplicated packets */
    uint32_t psn;           /* PSN of the first packet */
    uint32_t psn_cnt;       /* number of packets, including those not captured */
    uint64_t len;           /* number of bytes of the message that are replayed */
    uint32_t cut;           /* number of bytes at the end of a WRITE that are not replayed, because
                             * they were not captured */
    const char *unpostable; /* reason why the message cannot be posted, or NULL */
};

/* Reads the packets of a sender's stream, message by message. */
struct dgram_message_reader {
    const struct trace *trace;
    struct dgram_stream *stream; /* stream to read; the reader updates stream->damaged,
                                  * wire_duplicates and not_posted */
    size_t at;                   /* index of the next packet to read */
    uint64_t absent; /* number of packets in the messages so far that were not captured */
};

/* Reads the next message that can be posted. Returns false if there are no more. */
bool dgram_message_next(struct dgram_message_reader *source, struct dgram_message *message);

/* Returns the bytes of a message, with zeros for packets that were not captured. Returns NULL if
 * out of memory. The caller must free() the result. */
uint8_t *dgram_message_bytes(const struct dgram_message_reader *source,
                             const struct dgram_message *message);

/* Returns whether packet `i` of the stream is a duplicate of packet `i - 1` that the network
 * made. */
bool dgram_message_is_wire_duplicate(const struct dgram_message_reader *source, size_t i);

static inline const struct trace_packet *
dgram_message_packet(const struct dgram_message_reader *source, size_t i)
{
    return &source->trace->pkt[source->stream->pkt[i]];
}

#endif
