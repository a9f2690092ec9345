/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Allocator of memory blocks, each for a QP and its queues. The blocks are parts of large chunks.
 * With very many QPs, the address translation for the QP takes most of the time of a packet; chunks
 * in huge pages (pages.h) reduce that time. A device with few QPs has a small chunk.
 */
#ifndef RNIC_SLAB_H
#define RNIC_SLAB_H

#include <stddef.h>

struct rnic_slab_class;

struct rnic_slab {
    struct rnic_slab_class *first; /* list of classes; a class contains the blocks of one size, and
                                    * a device has few sizes */
};

/* Frees all memory, including blocks in use. A zeroed slab is empty and usable. */
void rnic_slab_free(struct rnic_slab *slab);

/* Returns a block of `size` zero bytes, aligned to a cache line, or NULL if out of memory. */
void *rnic_slab_get(struct rnic_slab *slab, size_t size);

/* Frees a block of `size` bytes. Accepts NULL. */
void rnic_slab_put(struct rnic_slab *slab, void *block, size_t size);

#endif
