/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ahead: reads a capture, parses its packets, computes their ICRC and hands them on in the order of
 * the file, with two threads. Only one can hand on and only one can read at a time; whoever has
 * done with one batch hands on the next if it can be, and else reads and parses another, so that
 * neither waits while there is work. Memory is that of some batches. Where no second thread can be
 * had, the caller's does it all.
 */
#ifndef REPLAY_CAPTURE_PARALLEL_READER_H
#define REPLAY_CAPTURE_PARALLEL_READER_H

#include "base/error.h"
#include "flow/base/packet_digest.h"
#include "capture/capture_reader.h"
#include "wire/tunnel.h"

/* In whole lines of the cache: who parses is often not who looks. */
struct parsed_frame {
    _Alignas(64) uint64_t time; /* of the frame, as is `number` */
    uint32_t number;
    int parsed; /* of roce_pkt_parse() */
    enum roce_icrc_status icrc;
    struct roce_packet_digest digest;
    struct roce_pkt pkt; /* points into the frame */
};

/* What the frames of a batch are, each by itself: names and meanings are those of struct
 * check_report. */
struct frame_counts {
    uint32_t foreign, pauses, unreadable, cut, unverified;
    uint32_t tunnel[ROCE_TUNNEL_CNT];
    uint64_t first_time, last_time;
};

/* The next frames, which are valid during the call; there may be none. */
struct frame_batch {
    const struct parsed_frame *item;
    unsigned cnt;
    const struct frame_counts *counts; /* of these */
};

/* Called from either thread, but for one batch after the other: what it writes needs no lock. */
typedef void frame_batch_fn(void *user, const struct frame_batch *frames);

/* Reads the source to its end; `icrc`: ICRCs are to be computed, else all are UNVERIFIED. Nobody
 * else may use the source meanwhile, but for reader_name(), reader_is_live() and, inside `fn`,
 * reader_progress(). 0; -1 and an error for a broken file, after all frames before it, and without
 * memory. */
int parallel_read(struct capture_reader *reader, bool icrc, frame_batch_fn *fn, void *user,
                  struct error *error);

#endif
