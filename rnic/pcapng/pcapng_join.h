/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng join: writes the recordings of several processes (port/frameio/record.h) to one file,
 * sorted by time. rnic-run -w calls it when its programs have ended.
 *
 * Frames of one recording are nearly in order. Frames of different recordings are sorted only by
 * their time stamps. A request always precedes its response: the device stamps the request before
 * it sends the request.
 */
#ifndef RNIC_PCAPNG_PCAPNG_JOIN_H
#define RNIC_PCAPNG_PCAPNG_JOIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

/*
 * Writes a section with the interfaces and frames of the `cnt` files at `path` to `out`. `comment`
 * is the comment of the section, at most PCAPNG_COMMENT_MAX bytes, or NULL. Frames with equal times
 * are in the order of the files. Interfaces that are equal in two files become one. If no file has
 * an interface, `out` gets an interface named "none", so that it is a valid capture without frames.
 * A file may be empty, or its last block incomplete, if its process was killed while writing. Files
 * are mapped, so they may be larger than memory.
 *
 * Returns 0. Returns -1 and sets `error`, which names the file, if a file cannot be read or is not
 * a little-endian pcapng file of one section. The caller must check `out` for write errors.
 */
int pcapng_join(FILE *out, char *const *path, unsigned cnt, const char *comment,
                struct error *error);

/* Returns whether pcapng_join() of this file alone, without a comment, would write the frames and
 * interfaces of the file unchanged. The file may also have marks (pcapng_merge.h), which readers of
 * pcapng ignore. If so, sets *len to the length of the file up to its last complete block. */
bool pcapng_is_joined(const char *path, uint64_t *len);

#endif
