/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/slab.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "device/pages.h"

#define LINE 64u
/* maximum chunk size, 8 MB: the unused part of the last chunk is then at most a 50th of the memory
 * of 100,000 QPs */
#define CHUNK_MOST (4 * RNIC_HUGE_PAGE)
#define FIRST_CNT  4u /* number of blocks in the first chunk */

struct free_block {
    struct free_block *next;
};

struct chunk {
    struct chunk *next;
    uint8_t *bytes;
    size_t len;
};

struct rnic_slab_class {
    struct rnic_slab_class *next;
    size_t size; /* size of a block, a multiple of a cache line */
    struct free_block *free;
    struct chunk *chunks;
    uint8_t *fresh; /* unused part of the newest chunk */
    size_t fresh_len;
    size_t chunk_len; /* length of the newest chunk, bytes */
};

void rnic_slab_free(struct rnic_slab *slab)
{
    while (slab->first) {
        struct rnic_slab_class *cls = slab->first;

        slab->first = cls->next;
        while (cls->chunks) {
            struct chunk *chunk = cls->chunks;

            cls->chunks = chunk->next;
            rnic_pages_put(chunk->bytes, chunk->len);
            free(chunk);
        }
        free(cls);
    }
}

static size_t whole_lines(size_t size)
{
    return (size + LINE - 1) / LINE * LINE;
}

/* Finds or creates the class of blocks of `size` bytes. Returns NULL if out of memory. */
static struct rnic_slab_class *find_class(struct rnic_slab *slab, size_t size)
{
    struct rnic_slab_class *cls = slab->first;

    while (cls && cls->size != size)
        cls = cls->next;
    if (cls)
        return cls;
    cls = calloc(1, sizeof(*cls));
    if (!cls)
        return NULL;
    cls->size = size;
    cls->next = slab->first;
    slab->first = cls;
    return cls;
}

/* Allocates another chunk of memory for the class, twice as large as its last chunk, but not larger
 * than CHUNK_MOST. */
static int add_chunk(struct rnic_slab_class *cls)
{
    size_t len = cls->chunk_len ? 2 * cls->chunk_len : FIRST_CNT * cls->size;
    struct chunk *chunk = malloc(sizeof(*chunk));

    if (len > CHUNK_MOST)
        len = CHUNK_MOST;
    if (len < cls->size)
        len = cls->size;
    if (len >= RNIC_HUGE_PAGE)
        len = (len + RNIC_HUGE_PAGE - 1) / RNIC_HUGE_PAGE * RNIC_HUGE_PAGE;
    else
        len = whole_lines(len);
    if (!chunk)
        return -1;
    chunk->len = len;
    chunk->bytes = rnic_pages_get(len);
    if (!chunk->bytes) {
        free(chunk);
        return -1;
    }
    chunk->next = cls->chunks;
    cls->chunks = chunk;
    cls->fresh = chunk->bytes;
    cls->fresh_len = cls->chunk_len = len;
    return 0;
}

#if defined(__SANITIZE_ADDRESS__)
#define OWN_BLOCKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OWN_BLOCKS 1
#endif
#endif
#ifndef OWN_BLOCKS
/* 1: blocks are from malloc(), so that a sanitizer can check their bounds; 0: blocks are parts of
 * large chunks */
#define OWN_BLOCKS 0
#endif

void *rnic_slab_get(struct rnic_slab *slab, size_t size)
{
    struct rnic_slab_class *cls;
    void *block;

    if (OWN_BLOCKS)
        return calloc(1, size);

    size = whole_lines(size);
    cls = find_class(slab, size);
    if (!cls)
        return NULL;
    if (cls->free) {
        block = cls->free;
        cls->free = cls->free->next;
    } else {
        if (cls->fresh_len < size && add_chunk(cls) != 0)
            return NULL;
        block = cls->fresh;
        cls->fresh += size;
        cls->fresh_len -= size;
    }
    memset(block, 0, size);
    return block;
}

void rnic_slab_put(struct rnic_slab *slab, void *block, size_t size)
{
    struct rnic_slab_class *cls;
    struct free_block *free_block = block;

    if (OWN_BLOCKS) {
        free(block);
        return;
    }
    if (!block)
        return;
    cls = find_class(slab, whole_lines(size));
    assert(cls); /* rnic_slab_get() created this class when it returned the block */
    free_block->next = cls->free;
    cls->free = free_block;
}
