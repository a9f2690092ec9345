/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page memory: memory of the streams of one capture (page_capture.h). If a capture has many
 * connections, successive packets access distant parts of this memory. So the memory is allocated
 * as huge pages if possible, to avoid TLB misses. All blocks are freed together. Several threads
 * may use one page memory at a time.
 */
#ifndef REPLAY_PAGE_PAGE_MEMORY_H
#define REPLAY_PAGE_PAGE_MEMORY_H

#include <pthread.h>
#include <stddef.h>

struct page_memory {
    pthread_mutex_t lock;
    struct page_block *block; /* the latest block; its last `left` bytes are free */
    size_t left;
};

void page_memory_init(struct page_memory *memory);
void page_memory_free(struct page_memory *memory);

/* Returns `size` bytes, aligned to a cache line and not initialized. Returns NULL if out of memory.
 */
void *page_memory_get(struct page_memory *memory, size_t size);

/* Returns an array of `cap` elements of `size` bytes, which begins with the first `cnt` elements of
 * `array`. Returns NULL if out of memory. */
void *page_memory_grow(struct page_memory *memory, const void *array, size_t cnt, size_t cap,
                       size_t size);

#endif
