/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram message: reads off the packets of a UC or UD sender which messages it must have posted,
 * as far as the packets were captured.
 */
#ifndef REPLAY_ENGINE_DGRAM_MESSAGE_H
#define REPLAY_ENGINE_DGRAM_MESSAGE_H

#include "engine/dgram_stream.h"

struct dgram_message {
    size_t from, to;  /* its packets: stream.pkt[from .. to), except damaged and duplicated ones */
    uint32_t psn;     /* PSN of its first packet */
    uint32_t psn_cnt; /* number of packets */
    uint64_t len;
    const char *unpostable; /* reason why it cannot be posted, or NULL */
};

/* Reads the packets of a sender's stream, message by message. */
struct dgram_message_reader {
    const struct trace *trace;
    struct dgram_stream
        *stream; /* its counters `damaged`, `wire_duplicates` and `not_posted` are updated */
    size_t at;   /* index of the next packet to read */
};

/* Reads the next message that can be posted. Returns false at the end. */
bool dgram_message_next(struct dgram_message_reader *source, struct dgram_message *message);

/* Returns the bytes of a message, with zeros for packets that were not captured, or NULL without
 * memory. The caller frees them. */
uint8_t *dgram_message_bytes(const struct dgram_message_reader *source,
                             const struct dgram_message *message);

/* Returns whether packet `i` of the stream is a duplicate made by the network. */
bool dgram_message_is_wire_duplicate(const struct dgram_message_reader *source, size_t i);

static inline const struct trace_packet *
dgram_message_packet(const struct dgram_message_reader *source, size_t i)
{
    return &source->trace->pkt[source->stream->pkt[i]];
}

#endif
