/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parallel reader: reads a capture with two threads. Passes its packets on in the order of the
 * file, parsed, with their ICRC checked and a digest for the flow engine. Used by check.
 *
 * Only one thread at a time can read the capture, and only one can pass a batch on. A thread that
 * has finished a batch passes on the next batch if it is parsed. Otherwise the thread reads and
 * parses another batch. So neither thread waits while there is work. The memory used is that of a
 * few batches. If the second thread cannot be started, the caller's thread does all the work.
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

/* Numbers of frames by kind. Members have the meaning of those in struct check_report. */
struct frame_counts {
    uint32_t foreign, pauses, unreadable, cut, unverified, zero_checksums;
    uint32_t tunnel[ROCE_TUNNEL_CNT];
    uint64_t first_time, last_time;
};

/* Next frames of the capture, valid during the call; `cnt` may be 0. */
struct frame_batch {
    const struct parsed_frame *item;
    unsigned cnt;
    const struct frame_counts *counts; /* counts of the frames in this batch */
};

/* Receives the batches. Either thread calls it, one batch after the other, so it needs no lock. */
typedef void frame_batch_fn(void *user, const struct frame_batch *frames);

/*
 * Reads the capture to its end and calls `fn` with every batch. If `icrc` is false, all ICRCs are
 * UNVERIFIED. `secret` is that of the flow that uses the digests. During the call, other threads
 * may call only reader_name(), reader_is_live() and, inside `fn`, reader_progress(). Returns 0.
 * Returns -1 and an error for a broken file, after all frames before the broken one, or if out of
 * memory.
 */
int parallel_read(struct capture_reader *reader, bool icrc, const struct roce_hash_secret *secret,
                  frame_batch_fn *fn, void *user, struct error *error);

#endif
