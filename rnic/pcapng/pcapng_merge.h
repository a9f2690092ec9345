/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng merge: merges several recordings that still grow (port/frameio/record.h) into one stream,
 * sorted by time. rnic-run --selfcheck passes this stream to `rocedrill check`. The functions do no
 * input or output.
 *
 *   1. pcapng_merge_new();
 *   2. pcapng_merge_add() for each recording;
 *   3. pcapng_merge_feed() with the new bytes of a recording;
 *   4. pcapng_merge_take() passes on the frames before which no further frame can come;
 *   5. pcapng_merge_end() when the writer of a recording has ended;
 *   6. pcapng_merge_del().
 *
 * A recording contains marks. No frame that the process sends after a mark has an earlier time
 * stamp than the mark. A received frame can have an earlier time stamp, because the kernel stamps
 * it before the process reads and records it. So pcapng_merge_take() may pass on a received frame
 * after later frames.
 *
 * Errors: -EINVAL for a stream that is not a recording of record.h, and -ENOMEM.
 */
#ifndef RNIC_PCAPNG_PCAPNG_MERGE_H
#define RNIC_PCAPNG_PCAPNG_MERGE_H

#include <stddef.h>
#include <stdint.h>

/* Writes a mark (block type 0x80000001, defined by this project) to `buf`. Returns its length, or 0
 * if the length exceeds `cap`. Frames sent after the mark have a time stamp of at least `time`.
 * UINT64_MAX means that no frame is being sent. */
size_t pcapng_mark(uint8_t *buf, size_t cap, uint64_t time);

/* Interfaces of the merged file. */
struct pcapng_ifaces {
    uint8_t **block; /* copies of the interface blocks */
    uint32_t cnt;
};

/* Returns the index of the interface with the interface block `block`. Adds the interface if it is
 * new. Returns -ENOMEM if out of memory. */
int pcapng_ifaces_number(struct pcapng_ifaces *ifaces, const uint8_t *block, uint32_t len);
void pcapng_ifaces_free(struct pcapng_ifaces *ifaces);

struct pcapng_merge;

struct pcapng_merge *pcapng_merge_new(void); /* Creates a merge without recordings. Returns NULL
                                              * if out of memory. */
void pcapng_merge_del(struct pcapng_merge *merge);

/* Adds a recording. Returns the number of its stream, or -ENOMEM. */
int pcapng_merge_add(struct pcapng_merge *merge);

/* Adds the next bytes of a stream, which may end inside a block. Returns 0, or a negative errno.
 * After -EINVAL, no more bytes of the stream are used. */
int pcapng_merge_feed(struct pcapng_merge *merge, int stream, const uint8_t *data, size_t len);

/* Ends a stream. pcapng_merge_take() then passes on frames of other streams without waiting for
 * this one. */
void pcapng_merge_end(struct pcapng_merge *merge, int stream);

typedef void pcapng_merge_fn(void *user, const uint8_t *block, size_t len);

/*
 * Passes frames to `fn`, sorted by time, as blocks of one pcapng file. These are the frames with a
 * time before `until` and before the latest mark of each stream. The order is exact if the caller
 * reads the clock, then feeds all data, and then passes the time that it read as `until`. With
 * UINT64_MAX, the function passes all frames, whatever the marks: after the last data, or if too
 * many frames wait.
 */
void pcapng_merge_take(struct pcapng_merge *merge, uint64_t until, pcapng_merge_fn *fn, void *user);

/* Returns the number of bytes of the frames that pcapng_merge_feed() got and pcapng_merge_take()
 * has not passed on yet. */
size_t pcapng_merge_waiting(const struct pcapng_merge *merge);

#endif
