/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parallel reader: reads a capture with several threads and passes its packets on, parsed, with
 * their ICRC checked and a digest for the flow engine. Used by check.
 *
 * The consumer looks at the packets in the order of the file. Then each of its parts judges them,
 * in the same order, in its own thread. A part ignores the packets of the others.
 *
 * Only one thread at a time can read the capture, and only one can look. A thread judges if it can,
 * otherwise it looks, reads or parses. So no thread waits while there is work, except for a part
 * that has the most packets. Memory is that of a few batches. If no other thread can be started,
 * the caller's does it all.
 */
#ifndef REPLAY_CAPTURE_PARALLEL_READER_H
#define REPLAY_CAPTURE_PARALLEL_READER_H

#include "base/error.h"
#include "flow/base/packet_digest.h"
#include "flow/flow.h"
#include "capture/capture_reader.h"
#include "wire/tunnel.h"

#define PARALLEL_PARTS_MAX 16u
_Static_assert(PARALLEL_PARTS_MAX < READ_AHEAD_THREADS, "each thread can read ahead");

/* Small enough for the second level cache, and large enough that the cost of a batch does not
 * count. */
#define FRAME_BATCH_MAX 256u

/* One packet. Aligned to a cache line: one thread parses it and another one often uses it. */
struct parsed_frame {
    _Alignas(64) uint64_t time; /* capture time of the frame, ns */
    uint32_t number;
    int parsed; /* result of roce_pkt_parse() */
    enum roce_icrc_status icrc;
    uint32_t group;             /* roce_flow_group() */
    uint64_t bytes;             /* for the consumer */
    struct roce_flow_look look; /* for the consumer */
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
    struct parsed_frame *item;
    uint8_t *part;                     /* one byte for each item, for the consumer */
    unsigned cnt;                      /* at most FRAME_BATCH_MAX */
    const struct frame_counts *counts; /* counts of the frames in this batch */
};

/* Receiver of the packets. Its functions need no lock: look() and settles() are called by one
 * thread at a time, and judge() by one thread at a time for each part. */
struct frame_consumer {
    void *user;
    bool icrc;                             /* check the ICRCs; otherwise all count as UNVERIFIED */
    const struct roce_hash_secret *secret; /* of the flow that gets the digests */
    unsigned threads;                      /* number of threads; 0: number of processors */
    unsigned (*begin)(void *user,
                      unsigned threads); /* returns the number of parts, 1 to `threads` */
    bool (*settles)(
        void *user); /* the next look() must wait until all earlier batches were judged */
    void (*look)(void *user, const struct frame_batch *frames);
    void (*judge)(void *user, unsigned part, const struct frame_batch *frames);
};

/*
 * Reads the capture to its end and calls the consumer with every batch. Meanwhile no other function
 * of the reader may be called but reader_name(), reader_is_live() and, inside look(),
 * reader_progress(). Returns 0; -1 and an error for a broken file, after all frames before it, or
 * without memory.
 */
int parallel_read(struct capture_reader *reader, const struct frame_consumer *consumer,
                  struct error *error);

#endif
