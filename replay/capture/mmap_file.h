/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* mapped.h - a file in memory where it lies. Who cuts the file short meanwhile takes the pages away
 * (SIGBUS): then the program says which file, in one line, and ends as with any unusable input. */
#ifndef REPLAY_CAPTURE_MMAP_FILE_H
#define REPLAY_CAPTURE_MMAP_FILE_H

#include <stddef.h>
#include <stdint.h>

struct mmap_file;

/* Maps the first `len` bytes of `fd` to read; `name` stands in the message and is copied. NULL
 * where that cannot be: then the file is to be read. */
struct mmap_file *mmap_file_open(int fd, size_t len, const char *name);
void mmap_file_close(struct mmap_file *mapped); /* NULL is fine */

/* Its bytes, until mmap_file_close(). */
uint8_t *mmap_file_bytes(const struct mmap_file *mapped);

#endif
