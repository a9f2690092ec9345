/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Mmap pages: a mapped file (mmap_file.h) of which a program reads the pages once, in order. Used
 * by mapped_reader.h. */
#ifndef REPLAY_CAPTURE_MMAP_PAGES_H
#define REPLAY_CAPTURE_MMAP_PAGES_H

#include "capture/mmap_file.h"

/* Like mmap_file_open(), but reads none of the pages of the file. */
struct mmap_file *mmap_file_open_lazily(int fd, size_t len, const char *name);

/* Reads the pages up to at least 1 MiB after offset `off`, except those that an earlier call has
 * read. Any thread may call it. */
void mmap_file_populate(struct mmap_file *mapped, size_t off);

/* Returns to the kernel the memory of the pages before `off`. Only one thread at a time may call
 * it. */
void mmap_file_drop(struct mmap_file *mapped, size_t off);

#endif
