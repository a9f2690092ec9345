/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Mapped reader: functions of a capture reader (capture_reader.h) that reads a mapped file once,
 * and for several threads that each read all its frames. Used by parallel_reader and split_reader.
 *
 *   1. reader_map_lazily() before the first frame is read,
 *   2. reader_twin() for each thread; the thread calls reader_next() and reader_map_next() of its
 *      twin,
 *   3. reader_close() of the twins, then mmap_file_close().
 */
#ifndef REPLAY_CAPTURE_MAPPED_READER_H
#define REPLAY_CAPTURE_MAPPED_READER_H

#include "capture/capture_reader.h"

#define READER_LONG (UINT64_C(1) << 20) /* length from which a file is long, bytes */

/* Maps a file of at least `min` bytes like reader_map(), but reads none of its pages. Returns NULL
 * if it cannot. */
struct mmap_file *reader_map_lazily(struct capture_reader *reader, uint64_t min);

/* Returns another reader of the same frames, from the first one on. A signal does not end its
 * reading. `blocks`: it calls the callback of reader_blocks(). Returns NULL if out of memory. */
struct capture_reader *reader_twin(const struct capture_reader *reader, bool blocks);

/* Maps the next pages, if no other thread has mapped them. A page that is not mapped yet is mapped
 * at its first access, which takes longer. Returns the offset of the next frame in the file. If the
 * file is not mapped, this function and the next one do nothing. */
size_t reader_map_next(const struct capture_reader *reader);

/* Unmaps the pages before an offset. One thread at a time may call it. */
void reader_unmap_before(const struct capture_reader *reader, size_t off);

/* Like reader_next(), but a signal does not end the reading. */
int reader_skip(struct capture_reader *reader, struct captured_frame *out, struct error *error);

#endif
