/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pack: what the observer says of a frame, in as few bytes as that takes. A frame that says little
 * costs little: a bit for each member that is not as it would be without anything to say, and the
 * value of those that are, seven bits a byte. About 20 bytes for a request packet in the middle of
 * a message, where the structure has 250. Private to track.c and its test.
 */
#ifndef PLUGIN_RESULT_CODEC_H
#define PLUGIN_RESULT_CODEC_H

#include "flow/flow.h"

#define ROCE_RESULT_LEN_MAX 440 /* no frame takes more: see the assertion in pack.c */

/* What track found out about a frame when it was first read. */
enum roce_note {
    ROCE_NOTE_SKIP_PAYLOAD = 1u << 0,    /* a frame before had it, or its receiver drops it */
    ROCE_NOTE_SKIP_REASSEMBLY = 1u << 1, /* ... and its place in the message was known then */
    ROCE_NOTE_SRC_QP_UNKNOWN = 1u << 2,  /* its source QP was not known yet */
};

struct roce_result_record {
    struct roce_flow_result result;
    uint64_t delta;    /* ns since the stream's frame before; ROCE_NEVER_NS for its first */
    uint32_t notes;    /* enum roce_note */
    uint32_t msn_step; /* by how much its MSN exceeds that of the AETH before it */
};

/* A frame with nothing to say. */
extern const struct roce_result_record roce_result_record_empty;

/*
 * Writes what `frame` says to `buf` of ROCE_RESULT_LEN_MAX bytes; returns the length, at least 1.
 * Left out, because the reader knows them otherwise: findings, src_qpn, msg_bytes, cm_service.
 */
size_t roce_result_encode(const struct roce_result_record *in, uint32_t frame, uint8_t *buf);

/* Reads it back; returns the length. Members left out are as in roce_result_record_empty. */
size_t roce_result_decode(struct roce_result_record *out, uint32_t frame, const uint8_t *buf);

#endif
