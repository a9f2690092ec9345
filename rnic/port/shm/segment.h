/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Segment: the memory file of one ring. The writer creates it and sends its descriptor to the
 * reader (hello.h). The file is sealed: neither process can shrink it, so a mapped byte stays
 * accessible. Used by port/shm/peers.c.
 */
#ifndef PORT_SHM_SEGMENT_H
#define PORT_SHM_SEGMENT_H

#include <stddef.h>
#include "port/shm/ring.h"

struct shm_segment {
    struct shm_memory memory;
    void *base; /* mapping; NULL: none */
    size_t len; /* length of the mapping, bytes */
};

/* Creates a sealed file with an empty ring of `size` bytes and maps it. Returns its descriptor for
 * the caller to close, or a negative errno: -EFBIG if the limit of file sizes is smaller. */
int shm_segment_new(uint32_t size, struct shm_segment *out);

/* Maps the file of another process. Does not close `fd`. Returns 0, or -EPROTO if it is not a
 * memory file, is not sealed, or has an impossible size; or another negative errno. */
int shm_segment_map(int fd, struct shm_segment *out);

/* Maps all pages. Otherwise the first frame in each page causes a page fault, which takes as long
 * as ten round trips. */
void shm_segment_prefault(const struct shm_segment *segment);

/* Makes a ring in private memory, for frames of a process to itself. Returns 0 or -ENOMEM. */
int shm_segment_private(uint32_t size, struct shm_segment *out);

void shm_segment_unmap(struct shm_segment *segment);

#endif
