/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Slab: blocks of memory for QPs, each with its queues behind it, cut from large chunks. With very
 * many QPs what a packet costs is finding the translation of its QP's addresses: chunks in huge
 * pages (pages.h) make that cheap. A device with a few QPs has a small chunk.
 */
#ifndef RNIC_SLAB_H
#define RNIC_SLAB_H

#include <stddef.h>

struct rnic_slab_class;

struct rnic_slab {
    struct rnic_slab_class *first; /* by size of block; a device has few sizes */
};

/* A zeroed slab is empty and ready. rnic_slab_free() gives all back, blocks in use too. */
void rnic_slab_free(struct rnic_slab *slab);

/* A block of `size` zero bytes, on a cache line of its own, or NULL without memory. */
void *rnic_slab_get(struct rnic_slab *slab, size_t size);

/* Gives a block back that was got with this size. NULL is fine. */
void rnic_slab_put(struct rnic_slab *slab, void *block, size_t size);

#endif
