/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng sort: puts the frames of a recording (port/record.h) in the order of their times. Several
 * processes append to one recording in batches, and the kernel stamps what is received before the
 * process sees it: within a process the order is right, between processes only the times tell it. A
 * sender takes the time before it sends, so that no answer is older than its request.
 */
#ifndef PORT_PCAPNG_PCAPNG_SORT_H
#define PORT_PCAPNG_PCAPNG_SORT_H

#include "port/frameio/port.h"

/*
 * Sorts the file in place: the section, the interfaces, then the frames; those of equal times stay
 * in their order. A process that still records goes on appending behind. A file that ends in the
 * middle of a block (a process was killed while it wrote, the disk is full) keeps that end.
 *
 * 0, -EINVAL if it is not a little-endian pcapng file of one section, or another negative errno. On
 * failure before the first byte is written the file is as it was.
 */
int rnic_pcapng_sort(const char *path, struct error *why);

#endif
