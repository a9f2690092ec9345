/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng merge: merges several recordings that still grow (port/frameio/record.h) into one stream,
 * sorted by time. rnic-run --selfcheck feeds its validator with the stream. Does no input or
 * output.
 *
 *   1. pcapng_merge_new();
 *   2. pcapng_merge_add() for each recording;
 *   3. pcapng_merge_feed() with the new bytes of a recording;
 *   4. pcapng_merge_take() passes on the frames that no older frame can follow;
 *   5. pcapng_merge_end() when the writer of a recording has ended;
 *   6. pcapng_merge_del().
 *
 * A recording has marks before and after the time stamps of sent frames. The marks prove that no
 * older frame can follow. The kernel stamps a received frame before its process reads it: such a
 * frame may arrive late, after younger frames were passed on.
 *
 * Errors: -EINVAL for a stream that is not such a recording, -ENOMEM.
 */
#ifndef RNIC_PCAPNG_PCAPNG_MERGE_H
#define RNIC_PCAPNG_PCAPNG_MERGE_H

#include <stddef.h>
#include <stdint.h>

/* Writes a mark (block type 0x80000001, defined by this project) with the parameters of
 * pcapng_packet(). Sent frames after the mark are not older than `time`; UINT64_MAX: no frame is
 * being sent. */
size_t pcapng_mark(uint8_t *buf, size_t cap, uint64_t time);

/* Interfaces of a file that is the result of a merge. */
struct pcapng_ifaces {
    uint8_t **block; /* copies of the interface blocks */
    uint32_t cnt;
};

/* Returns the number of the interface with this block. Adds the interface if it is new. Returns
 * -ENOMEM if out of memory. */
int pcapng_ifaces_number(struct pcapng_ifaces *ifaces, const uint8_t *block, uint32_t len);
void pcapng_ifaces_free(struct pcapng_ifaces *ifaces);

struct pcapng_merge;

struct pcapng_merge *pcapng_merge_new(void); /* Creates a merge without recordings. Returns NULL
                                              * if out of memory. */
void pcapng_merge_del(struct pcapng_merge *merge);

/* Adds a recording. Returns the number of its stream, or -ENOMEM. */
int pcapng_merge_add(struct pcapng_merge *merge);

/* Adds the next bytes of a stream; they may end inside a block. After -EINVAL the stream has ended.
 */
int pcapng_merge_feed(struct pcapng_merge *merge, int stream, const uint8_t *data, size_t len);

/* Ends a stream. Its last mark then no longer delays the frames of other streams. */
void pcapng_merge_end(struct pcapng_merge *merge, int stream);

typedef void pcapng_merge_fn(void *user, const uint8_t *block, size_t len);

/*
 * Passes frames to `fn`, as blocks of one pcapng file. The frames are older than `until` and older
 * than the mark of each stream. For an exact order, the caller reads the clock first, then feeds
 * all data, then calls this function with the time read. UINT64_MAX passes all frames, because no
 * more will follow.
 */
void pcapng_merge_take(struct pcapng_merge *merge, uint64_t until, pcapng_merge_fn *fn, void *user);

/* Returns the number of bytes of waiting frames. */
size_t pcapng_merge_waiting(const struct pcapng_merge *merge);

#endif
