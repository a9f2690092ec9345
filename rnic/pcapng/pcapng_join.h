/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng join: makes one file, sorted by time, of the recordings of several processes
 * (port/frameio/record.h). rnic-run -w calls it when its programs have ended.
 *
 * Within a recording the order is nearly right, between recordings only the times tell it: a sender
 * takes the time before it sends, so that no response is older than its request.
 */
#ifndef RNIC_PCAPNG_PCAPNG_JOIN_H
#define RNIC_PCAPNG_PCAPNG_JOIN_H

#include <stdio.h>
#include "base/error.h"

/*
 * Writes to `out` a section, the interfaces of the `cnt` files at `path`, and their frames; frames
 * of equal times stay in the order of the files. Interfaces that are the same in two files become
 * one. The last block of a file may be cut off, as a process leaves it that was killed while it
 * wrote, and a file may be empty. Files are mapped, so that they may be larger than memory.
 *
 * 0, or -1 and an error that names the file: it is not a little-endian pcapng file of one section,
 * or cannot be read. The caller checks `out` for errors of writing.
 */
int pcapng_join(FILE *out, char *const *path, unsigned cnt, struct error *error);

#endif
