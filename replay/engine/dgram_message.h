/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Message: what a sender of UC or UD must have posted, read off its packets, as far as the capture
 * has them.
 */
#ifndef REPLAY_ENGINE_DGRAM_MESSAGE_H
#define REPLAY_ENGINE_DGRAM_MESSAGE_H

#include "engine/dgram_stream.h"

struct dgram_message {
    size_t from, to;  /* its packets: stream.pkt[from .. to), with others between them that are
                       * damaged or repeated */
    uint32_t psn;     /* of its first packet */
    uint32_t psn_cnt; /* packets it has */
    uint64_t len;
    const char *unpostable; /* why it cannot be posted, or NULL */
};

/* The packets of a stream of the sender's role, read one message after the other. */
struct dgram_message_reader {
    const struct trace *trace;
    struct dgram_stream *stream; /* `damaged`, `repeated` and `not_posted` are counted there */
    size_t at;                   /* packets before are read */
};

/* The next message that can be posted; false if there is none. */
bool dgram_message_next(struct dgram_message_reader *source, struct dgram_message *message);

/* Its bytes, to be freed: zeros where the capture has none. NULL without memory. */
uint8_t *dgram_message_bytes(const struct dgram_message_reader *source,
                             const struct dgram_message *message);

/* The wire shows packet `i` of the stream again. */
bool dgram_message_is_wire_duplicate(const struct dgram_message_reader *source, size_t i);

static inline const struct trace_packet *
dgram_message_packet(const struct dgram_message_reader *source, size_t i)
{
    return &source->trace->pkt[source->stream->pkt[i]];
}

#endif
