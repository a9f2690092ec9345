/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flight: which operation a response completes, for taps. Frames are those of the tap, so that a
 * filter counts; retransmissions are not operations of their own.
 */
#ifndef PLUGIN_SRT_H
#define PLUGIN_SRT_H

#include "ws_compat.h"
#include "analysis_store.h"

struct roce_srt_op {
    enum roce_kind kind; /* of the request */
    uint32_t stream;
    uint64_t bytes; /* payload of the message, or what a READ brought */
    uint64_t start; /* ns, of its first packet */
    uint64_t ns;    /* until this response; NEVER in UC, where the last packet is the end */
};

/* Of one tap. */
struct roce_srt_tracker;

struct roce_srt_tracker *roce_srt_new(void);
void roce_srt_free(struct roce_srt_tracker *tracker); /* NULL is fine */

/* Looks at a frame. `done` is called for each operation that it completes. */
void roce_srt_packet(struct roce_srt_tracker *tracker, const struct roce_tap *tap,
                     packet_info *pinfo, void (*done)(void *user, const struct roce_srt_op *done),
                     void *user);

/* Whether the frame starts an operation that was not there before. */
bool roce_srt_starts_op(const struct roce_tap *tap);

/* Bytes of remote memory that a READ, WRITE or atomic names; 0 in others. */
uint64_t roce_srt_region_bytes(const struct roce_pkt *pkt);

static inline uint64_t roce_srt_time(const packet_info *pinfo)
{
    return (uint64_t)pinfo->abs_ts.secs * 1000000000u + (uint64_t)pinfo->abs_ts.nsecs;
}

#endif
