/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tail: the newest bytes of a recording (record.h) that are not in its file yet. The tail is a
 * small file next to the recording, mapped by the process that records. So a process that records
 * needs no system call for each frame, and a process that is killed loses no frame.
 *
 *   Recording: 1. record_tail_open(), 2. record_tail_note() after each change of the bytes at
 *   `data`, 3. record_tail_close() after all bytes are in the file of the recording.
 *   rnic-run: record_tail_append() after the process has ended.
 */
#ifndef PORT_FRAMEIO_RECORD_TAIL_H
#define PORT_FRAMEIO_RECORD_TAIL_H

#include <stddef.h>
#include <stdint.h>

/* Maximum length of a tail, bytes. Larger writes to ext4 take longer, because the kernel then
 * searches for larger pieces of free memory. */
#define RECORD_TAIL_LEN (256u * 1024)

struct record_tail_map;

struct record_tail {
    struct record_tail_map *map; /* mapped file; NULL if the recording has no tail */
    uint8_t *data;               /* RECORD_TAIL_LEN bytes in `map` */
};

/* Creates the tail of the recording at `path`. Returns 0 or a negative errno. */
int record_tail_open(struct record_tail *tail, const char *path);

/* States that the first `len` bytes at `data` follow the first `at` bytes of the recording. */
void record_tail_note(const struct record_tail *tail, uint64_t at, size_t len);

/* Deletes the tail of the recording at `path`. */
void record_tail_close(struct record_tail *tail, const char *path);

/* Appends the tail, if there is one, to the recording at `path`, whose process has ended, and
 * deletes the tail. Returns 0 or a negative errno. */
int record_tail_append(const char *path);

#endif
