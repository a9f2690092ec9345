/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng join: writes the recordings of several processes (port/frameio/record.h) to one file,
 * sorted by time. rnic-run -w calls it when its programs have ended.
 *
 * Frames of one recording are nearly in order. Frames of different recordings are ordered only by
 * their times. A sender takes the time stamp before it sends, so no response is older than its
 * request.
 */
#ifndef RNIC_PCAPNG_PCAPNG_JOIN_H
#define RNIC_PCAPNG_PCAPNG_JOIN_H

#include <stdio.h>
#include "base/error.h"

/*
 * Writes a section, the interfaces of the `cnt` files at `path`, and their frames to `out`. Frames
 * with equal times stay in the order of the files. Interfaces that are equal in two files become
 * one. Without any interface, `out` gets one named "none", so that it is a capture without frames.
 * A file may be empty. Its last block may be cut off, if its process was killed while writing.
 * Files are mapped, so they may be larger than memory.
 *
 * Returns 0. Returns -1 with an error that names the file, if a file cannot be read or is not a
 * little-endian pcapng file of one section. The caller checks `out` for write errors.
 */
int pcapng_join(FILE *out, char *const *path, unsigned cnt, struct error *error);

#endif
