/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _DEFAULT_SOURCE /* needed for madvise() */
#include "device/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE ((size_t)64) /* length of a cache line, bytes */

static size_t whole(size_t len, size_t unit)
{
    return (len + unit - 1) / unit * unit;
}

/* Maps `len` bytes, a multiple of the huge page size, aligned to a huge page. */
static void *map_pages(size_t len)
{
    uint8_t *p = mmap(NULL, len + RNIC_HUGE_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t skip;

    if (p == MAP_FAILED)
        return NULL;
    skip = (RNIC_HUGE_PAGE - (uintptr_t)p % RNIC_HUGE_PAGE) % RNIC_HUGE_PAGE;
    if (skip)
        munmap(p, skip);
    munmap(p + skip + len, RNIC_HUGE_PAGE - skip);
    (void)madvise(p + skip, len, MADV_HUGEPAGE); /* a failure of madvise() only costs speed */
    return p + skip;
}

void *rnic_pages_get(size_t len)
{
    void *p;

    if (len >= RNIC_HUGE_PAGE)
        return map_pages(whole(len, RNIC_HUGE_PAGE));
    len = whole(len, LINE);
    p = aligned_alloc(LINE, len);
    if (p)
        memset(p, 0, len);
    return p;
}

void rnic_pages_put(void *pages, size_t len)
{
    if (pages && len >= RNIC_HUGE_PAGE)
        munmap(pages, whole(len, RNIC_HUGE_PAGE));
    else
        free(pages);
}
