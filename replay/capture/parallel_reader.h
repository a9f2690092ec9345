/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parallel reader: reads a capture with two threads and passes its packets on in the order of the
 * file, parsed, with their ICRC checked and a digest for the flow engine. Used by check.
 *
 * Only one thread at a time can read the capture, and only one can pass a batch on. A thread that
 * is done with a batch passes on the next one if that is parsed, and otherwise reads and parses
 * another, so that neither waits while there is work. Memory is that of a few batches. If no second
 * thread can be started, the caller's does it all.
 */
#ifndef REPLAY_CAPTURE_PARALLEL_READER_H
#define REPLAY_CAPTURE_PARALLEL_READER_H

#include "base/error.h"
#include "flow/base/packet_digest.h"
#include "capture/capture_reader.h"
#include "wire/tunnel.h"

/* One packet. Aligned to a cache line: one thread parses it and the other one often uses it. */
struct parsed_frame {
    _Alignas(64) uint64_t time; /* capture time of the frame, ns */
    uint32_t number;
    int parsed; /* result of roce_pkt_parse() */
    enum roce_icrc_status icrc;
    struct roce_packet_digest digest;
    struct roce_pkt pkt; /* points into the frame */
};

/* Numbers of frames by kind; the members mean the same as in struct check_report. */
struct frame_counts {
    uint32_t foreign, pauses, unreadable, cut, unverified, zero_checksums;
    uint32_t tunnel[ROCE_TUNNEL_CNT];
    uint64_t first_time, last_time;
};

/* The next frames, valid during the call; there may be none. */
struct frame_batch {
    const struct parsed_frame *item;
    unsigned cnt;
    const struct frame_counts *counts; /* counts of the frames in this batch */
};

/* Receives the batches. Either thread calls it, one batch after the other, so it needs no lock. */
typedef void frame_batch_fn(void *user, const struct frame_batch *frames);

/*
 * Reads the capture to its end and calls `fn` with every batch. Without `icrc` all ICRCs count as
 * UNVERIFIED. `secret` is that of the flow that gets the digests. Meanwhile no other function of
 * the reader may be called but reader_name(), reader_is_live() and, inside `fn`, reader_progress().
 * Returns 0; -1 and an error for a broken file, after all frames before it, or if out of memory.
 */
int parallel_read(struct capture_reader *reader, bool icrc, const struct roce_hash_secret *secret,
                  frame_batch_fn *fn, void *user, struct error *error);

#endif
