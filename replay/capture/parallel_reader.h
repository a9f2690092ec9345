/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parallel reader: reads a capture with several threads and passes its packets to judge(), a
 * callback of the consumer. Before this call, a thread parses each packet, checks its ICRC and
 * computes its digest for rnic/flow. Used by check.
 *
 * Only one thread at a time can read the capture, and only one can be in judge(). The thread that
 * parsed a batch also calls judge() for it, so that its packets do not move to the cache of another
 * processor. The reader uses the memory of a few batches. If no other thread can be started, the
 * caller's thread does all the work.
 */
#ifndef REPLAY_CAPTURE_PARALLEL_READER_H
#define REPLAY_CAPTURE_PARALLEL_READER_H

#include "base/error.h"
#include "capture/parsed_frame.h"

#define PARALLEL_THREADS_MAX 16u /* maximum number of threads */
_Static_assert(PARALLEL_THREADS_MAX < READ_AHEAD_THREADS, "thread 0 is that of the caller");

/* Maximum number of packets in a batch. A batch fits into the second level cache. It has many
 * packets, because for each batch the state of the connections moves to the cache of the processor
 * that judges the batch. */
#define FRAME_BATCH_MAX 1024u

/* Receiver of the packets. Only one thread at a time calls its function. */
struct frame_consumer {
    void *user;
    /* Check the ICRCs; if unset, the status of each packet is UNVERIFIED. */
    bool icrc;
    /* Hash secret of the struct roce_flow to which the digests are passed. */
    const struct roce_hash_secret *secret;
    unsigned threads; /* number of threads; 0: number of processors */
    /* Gets every batch in the order of the file. The batch is valid during the call. */
    void (*judge)(void *user, const struct frame_batch *frames);
};

/*
 * Reads the capture to its end and calls the consumer with every batch. During this call, only
 * these functions of the reader may be called: reader_name(), reader_is_live() and, inside judge(),
 * reader_progress().
 *
 * Returns 0 at the end of the file. Returns -1 and an error if out of memory, or if the file is
 * malformed. In the second case, the frames before the malformed one were passed to the consumer.
 */
int parallel_read(struct capture_reader *reader, const struct frame_consumer *consumer,
                  struct error *error);

#endif
