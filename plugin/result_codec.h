/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compact encoding of the analysis result of a frame: a varint with one presence bit for each
 * member that differs from its default, followed by the values of these members as varints (7 bits
 * per byte). A request packet in the middle of a message takes about 20 bytes; the structure has
 * 250. Used only by analysis_store.c and its test.
 */
#ifndef PLUGIN_RESULT_CODEC_H
#define PLUGIN_RESULT_CODEC_H

#include "flow/flow.h"

#define ROCE_RESULT_LEN_MAX 440 /* upper bound, bytes; asserted in result_codec.c */

/* Properties of a frame that the first pass determines. */
enum roce_note {
    /* Follow Stream and the upper-layer dissectors must skip the payload: it is a duplicate, or the
     * receiver drops the packet. */
    ROCE_NOTE_SKIP_PAYLOAD = 1u << 0,
    /* Reassembly must skip the payload, because an earlier frame contained the same payload. */
    ROCE_NOTE_SKIP_REASSEMBLY = 1u << 1,
    /* The source QP was unknown when the frame was first read. */
    ROCE_NOTE_SRC_QP_UNKNOWN = 1u << 2,
    /* At this frame rnic/flow reached a limit of memory or connections: idle connections lost their
     * history or were closed, or rnic/flow did not record the packet. */
    ROCE_NOTE_LIMIT = 1u << 3,
};

struct roce_result_record {
    struct roce_flow_result result;
    /* Time since the previous frame of the stream, ns; ROCE_NEVER_NS for the first frame. */
    uint64_t delta;
    uint32_t notes;    /* bits of enum roce_note */
    uint32_t msn_step; /* increase of the MSN since the previous AETH from the same sender */
};

/* Record in which all members have their default values. */
extern const struct roce_result_record roce_result_record_empty;

/*
 * Encodes the record of `frame` into `buf` of ROCE_RESULT_LEN_MAX bytes. Returns the length, at
 * least 1. Does not encode findings, src_qpn, msg_bytes and cm_service, because roce_store_get()
 * derives them.
 */
size_t roce_result_encode(const struct roce_result_record *in, uint32_t frame, uint8_t *buf);

/* Decodes a record. Returns its length in `buf`. Members that were not encoded get their default
 * values. */
size_t roce_result_decode(struct roce_result_record *out, uint32_t frame, const uint8_t *buf);

#endif
