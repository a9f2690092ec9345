/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page memory: memory of the streams of one capture (page_capture.h). Each packet of a capture with
 * many connections uses another part of it, so it is mapped with huge pages if possible. It is
 * freed as a whole. Several threads may use it at a time.
 */
#ifndef REPLAY_PAGE_PAGE_MEMORY_H
#define REPLAY_PAGE_PAGE_MEMORY_H

#include <pthread.h>
#include <stddef.h>

struct page_memory {
    pthread_mutex_t lock;
    struct page_block *block; /* the latest block, in which there are `left` bytes */
    size_t left;
};

void page_memory_init(struct page_memory *memory);
void page_memory_free(struct page_memory *memory);

/* Returns `size` bytes, which begin with a cache line and are not initialized. Returns NULL if out
 * of memory. */
void *page_memory_get(struct page_memory *memory, size_t size);

/* Returns an array of `cap` elements of `size` bytes, which begins with the first `cnt` elements of
 * `array`. Returns NULL if out of memory. */
void *page_memory_grow(struct page_memory *memory, const void *array, size_t cnt, size_t cap,
                       size_t size);

#endif
