/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK ((size_t)2 << 20) /* length of a huge page, bytes */
#define LINE  64u               /* length of a cache line, bytes */

struct page_block {
    _Alignas(LINE) struct page_block *next;
    size_t len;
};

void page_memory_init(struct page_memory *memory)
{
    *memory = (struct page_memory){.block = NULL};
    pthread_mutex_init(&memory->lock, NULL);
}

void page_memory_free(struct page_memory *memory)
{
    for (struct page_block *block = memory->block, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    pthread_mutex_destroy(&memory->lock);
}

/* Begins a block that has room for `size` bytes. */
static struct page_block *add_block(struct page_memory *memory, size_t size)
{
    size_t len = (sizeof(struct page_block) + size + BLOCK - 1) / BLOCK * BLOCK;
    struct page_block *block = aligned_alloc(BLOCK, len);

    if (!block)
        return NULL;
    (void)madvise(block, len, MADV_HUGEPAGE); /* a failure only costs speed */
    block->next = memory->block;
    block->len = len;
    memory->block = block;
    memory->left = len - sizeof(*block);
    return block;
}

void *page_memory_get(struct page_memory *memory, size_t size)
{
    char *to = NULL;

    size = (size + LINE - 1) / LINE * LINE;
    pthread_mutex_lock(&memory->lock);
    if (size <= memory->left || add_block(memory, size)) {
        to = (char *)memory->block + memory->block->len - memory->left;
        memory->left -= size;
    }
    pthread_mutex_unlock(&memory->lock);
    return to;
}

void *page_memory_grow(struct page_memory *memory, const void *array, size_t cnt, size_t cap,
                       size_t size)
{
    void *to = page_memory_get(memory, cap * size);

    if (to && cnt)
        memcpy(to, array, cnt * size);
    return to;
}
