/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Service response times: finds the operation that a response completes. Only the frames of the tap
 * count, so that a display filter takes effect. Retransmissions are not separate operations.
 */
#ifndef PLUGIN_SRT_H
#define PLUGIN_SRT_H

#include "ws_compat.h"
#include "analysis_store.h"

struct roce_srt_op {
    enum roce_kind kind; /* kind of the request */
    uint32_t stream;     /* stream index */
    uint64_t bytes;      /* payload of the message, or bytes that the READ returned */
    uint64_t start;      /* time of the first request packet, ns */
    uint64_t ns;         /* time until this response; ROCE_NEVER_NS for UC, which has none */
};

/* State of one tap listener. */
struct roce_srt_tracker;

struct roce_srt_tracker *roce_srt_new(void);
void roce_srt_free(struct roce_srt_tracker *tracker); /* accepts NULL */

/* Processes a frame and calls `done` for each operation that it completes. */
void roce_srt_packet(struct roce_srt_tracker *tracker, const struct roce_tap *tap,
                     packet_info *pinfo, void (*done)(void *user, const struct roce_srt_op *done),
                     void *user);

/* Returns true if the frame starts a new operation: it is not a retransmission. */
bool roce_srt_starts_op(const struct roce_tap *tap);

/* Returns the length of the remote memory that a READ, WRITE or atomic accesses, in bytes. Returns
 * 0 for other operations. */
uint64_t roce_srt_region_bytes(const struct roce_pkt *pkt);

static inline uint64_t roce_srt_time(const packet_info *pinfo)
{
    return (uint64_t)pinfo->abs_ts.secs * 1000000000u + (uint64_t)pinfo->abs_ts.nsecs;
}

#endif
