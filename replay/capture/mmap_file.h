/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Mmap file: a file mapped into memory. If another process truncates the file, access to the
 * removed pages raises SIGBUS. The program then prints one line that names the file, and exits with
 * the exit status for unusable input. capture_reader.c uses it for replay, which keeps all frames.
 */
#ifndef REPLAY_CAPTURE_MMAP_FILE_H
#define REPLAY_CAPTURE_MMAP_FILE_H

#include <stddef.h>
#include <stdint.h>

struct mmap_file;

/* Maps the first `len` bytes of `fd` for reading. `name` is copied for the error message. Returns
 * NULL on failure; the caller then reads the file. */
struct mmap_file *mmap_file_open(int fd, size_t len, const char *name);
void mmap_file_close(struct mmap_file *mapped); /* Unmaps the file. `mapped` may be NULL. */

/* Returns the mapped bytes, which are valid until mmap_file_close(). */
uint8_t *mmap_file_bytes(const struct mmap_file *mapped);

#endif
