/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Mapped reader: functions of a capture reader (capture_reader.h) for a file that is mapped into
 * memory. Several threads can each read all its frames once, in order, with their own readers
 * ("twins"). Used by parallel_reader and split_reader.
 *
 *   1. reader_map_lazily() before the first frame is read,
 *   2. reader_twin() for each thread; the thread calls reader_next() and reader_map_next() of its
 *      twin,
 *   3. reader_close() of the twins, then mmap_file_close().
 */
#ifndef REPLAY_CAPTURE_MAPPED_READER_H
#define REPLAY_CAPTURE_MAPPED_READER_H

#include "capture/capture_reader.h"
#include "capture/pcap_walk.h"

/* Minimum file length for reader_map() and reader_begin_ahead(), bytes. */
#define READER_LONG (UINT64_C(1) << 20)

/* Maps a file of at least `min` bytes like reader_map(), but reads none of its pages. Returns NULL
 * if the file is shorter, is not a regular uncompressed file, or cannot be mapped. */
struct mmap_file *reader_map_lazily(struct capture_reader *reader, uint64_t min);

/* Returns a second reader of the mapped file, which begins at the first frame. SIGINT does not end
 * its reading. If `blocks` is true, the twin also calls the callback of reader_blocks(). Returns
 * NULL if out of memory. */
struct capture_reader *reader_twin(const struct capture_reader *reader, bool blocks);

/* Maps the pages after the next frame, unless another thread has mapped them. One call for many
 * pages is faster than a page fault for each page. Returns the file offset of the next frame. If
 * the reader has no mapped file, maps nothing, and the result has no meaning. */
size_t reader_map_next(const struct capture_reader *reader);

/* Returns the address of the next record. */
const uint8_t *reader_mapped(const struct capture_reader *reader);

/* Returns to the kernel the memory of the mapped pages before offset `off`. Only one thread at a
 * time may call it. Does nothing if the reader has no mapped file. */
void reader_unmap_before(const struct capture_reader *reader, size_t off);

/*
 * Fast path of reader_next_here() for a loop over Ethernet frames. reader_walk() begins at the next
 * frame; it returns false if reader_next_here() would return false for every frame, or if the link
 * layer is not Ethernet. The caller reads frames with pcap_walk_next(), at most up to frame number
 * `last`, and counts them in `number`. Then it calls reader_walked().
 */
struct reader_walk {
    struct pcap_walk records;
    bool pcapng;
    uint32_t number; /* of the latest frame */
    uint32_t last;   /* number of the last frame to read */
};
bool reader_walk(const struct capture_reader *reader, struct reader_walk *walk);
void reader_walked(struct capture_reader *reader, const struct reader_walk *walk);

/* Moves a twin to file offset `off`, so that reader_progress() reports this number of bytes. */
void reader_show(struct capture_reader *reader, size_t off);

/* Like reader_next(), but SIGINT does not end the reading. */
int reader_skip(struct capture_reader *reader, struct captured_frame *out, struct error *error);

#endif
