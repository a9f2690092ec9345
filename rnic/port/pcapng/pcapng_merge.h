/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng merge: makes one stream, in the order of its times, of several that still grow: recordings
 * into a folder (record.h). Frames that a process sends have their times between two marks, so that
 * nothing older than what was given out can follow; frames that it receives were stamped by the
 * kernel before it looked, and may come late: they keep their place among those of their stream.
 * Does no input or output.
 */
#ifndef PORT_PCAPNG_PCAPNG_MERGE_H
#define PORT_PCAPNG_PCAPNG_MERGE_H

#include <stddef.h>
#include <stdint.h>

struct rnic_merge;

struct rnic_merge *rnic_merge_new(void); /* NULL without memory */
void rnic_merge_del(struct rnic_merge *merge);

/* The number of a further stream, or -ENOMEM. */
int rnic_merge_add(struct rnic_merge *merge);

/* What follows of a stream; blocks may be cut anywhere. -EINVAL if it is not one of record.h, and
 * the stream is over then; -ENOMEM. */
int rnic_merge_feed(struct rnic_merge *merge, int stream, const uint8_t *data, size_t len);

/* Nothing follows: whoever wrote it is gone. */
void rnic_merge_end(struct rnic_merge *merge, int stream);

typedef void rnic_merge_fn(void *user, const uint8_t *block, size_t len);

/*
 * Gives out, as blocks of one pcapng file, the frames that are older than `until` and than what any
 * stream says is on its way. To be exact the caller takes the time, then feeds all there is, and
 * then asks for what is older than that time; UINT64_MAX: everything, as nothing will follow.
 */
void rnic_merge_take(struct rnic_merge *merge, uint64_t until, rnic_merge_fn *fn, void *user);

/* Bytes of frames that wait. */
size_t rnic_merge_waiting(const struct rnic_merge *merge);

#endif
