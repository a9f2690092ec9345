/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parallel reader: reads a capture with several threads and passes its packets to a consumer. Each
 * packet is parsed, its ICRC is checked, and its digest for rnic/flow is computed. Used by check.
 *
 * The consumer divides the packets between parts, so that several threads can judge them ("Several
 * flows" in flow/flow.h). First its function look() gets all packets in the order of the file. Then
 * its function judge() gets them in the same order, once for each part, each part in its own
 * thread. A part ignores the packets of the other parts.
 *
 * Only one thread at a time can read the capture, and only one can be in look(). A thread judges if
 * it can; otherwise it calls look(), reads or parses. So threads wait only if one part has so many
 * packets that the others must wait for it. If there is one part, the thread that parsed a batch
 * judges it, so that its packets do not move to the cache of another processor. The memory used is
 * that of a few batches. If no other thread can be started, the caller's thread does all the work.
 */
#ifndef REPLAY_CAPTURE_PARALLEL_READER_H
#define REPLAY_CAPTURE_PARALLEL_READER_H

#include "base/error.h"
#include "flow/base/packet_digest.h"
#include "flow/flow.h"
#include "capture/capture_reader.h"
#include "wire/tunnel.h"

#define PARALLEL_PARTS_MAX 16u
_Static_assert(PARALLEL_PARTS_MAX < READ_AHEAD_THREADS,
               "READ_AHEAD_THREADS must exceed PARALLEL_PARTS_MAX, because each part has a thread");

/* Number of packets in a batch: small enough for the second level cache. With each batch, the state
 * of the connections moves to the processor that judges it, so a batch has many packets. */
#define FRAME_BATCH_MAX 1024u

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

/* Numbers of frames by kind. The members have the same meaning as in struct check_report. */
struct frame_counts {
    uint32_t foreign, pauses, unreadable, cut, unverified, zero_checksums;
    uint32_t tunnel[ROCE_TUNNEL_CNT];
    uint64_t first_time, last_time;
};

/* A batch: the next frames of the capture. Valid during the call of look() or judge(). `cnt` may be
 * 0. */
struct frame_batch {
    struct parsed_frame *item;
    uint8_t *part;                     /* one byte for each item, which the consumer may use */
    unsigned cnt;                      /* at most FRAME_BATCH_MAX */
    const struct frame_counts *counts; /* counts of the frames in this batch */
};

/* Receiver of the packets. Its functions need no lock: only one thread at a time is in look() or
 * settles(), and only one thread at a time is in judge() for each part. */
struct frame_consumer {
    void *user;
    /* Check the ICRCs; if unset, the status of each packet is UNVERIFIED. */
    bool icrc;
    /* Secret of the struct roce_flow to which the digests are passed. */
    const struct roce_hash_secret *secret;
    unsigned threads; /* number of threads; 0: number of processors */
    /* Called once with the number of threads. Returns the number of parts, 1 to `threads`. */
    unsigned (*begin)(void *user, unsigned threads);
    /* Returns whether the next look() must wait until all earlier batches were judged. */
    bool (*settles)(void *user);
    void (*look)(void *user, const struct frame_batch *frames);
    void (*judge)(void *user, unsigned part, const struct frame_batch *frames);
};

/*
 * Reads the capture to its end and calls the consumer with every batch. Meanwhile only these
 * functions of the reader may be called: reader_name(), reader_is_live() and, inside look(),
 * reader_progress(). Returns 0 at the end of the file. Returns -1 and an error if out of memory, or
 * if the file is malformed; all frames before the malformed one were then passed on.
 */
int parallel_read(struct capture_reader *reader, const struct frame_consumer *consumer,
                  struct error *error);

#endif
