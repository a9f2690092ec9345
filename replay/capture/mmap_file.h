/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* mapped.h - a file in memory where it lies. Who cuts the file short meanwhile takes the pages away
 * (SIGBUS): then the program says which file, in one line, and ends as with any unusable input. */
#ifndef REPLAY_CAPTURE_MMAP_FILE_H
#define REPLAY_CAPTURE_MMAP_FILE_H

#include <stddef.h>
#include <stdint.h>

struct mapped;

/* Maps the first `len` bytes of `fd` to read; `name` stands in the message and is copied. NULL
 * where that cannot be: then the file is to be read. */
struct mapped *mapped_open(int fd, size_t len, const char *name);
void mapped_close(struct mapped *mapped); /* NULL is fine */

/* Its bytes, until mapped_close(). */
uint8_t *mapped_bytes(const struct mapped *mapped);

#endif
