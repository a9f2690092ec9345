/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/mem.h"

#include <string.h>

/* The last 1/RESERVE of the memory limit is reserved for the packet that is being judged. If the
 * packet uses some of this reserve, roce_evict() evicts connections before the next packet. */
#define RESERVE 16

static size_t reserved_max(const struct roce_mem *mem)
{
    return mem->max - mem->max / RESERVE;
}

size_t roce_mem_low_water(const struct roce_mem *mem)
{
    size_t left = mem->now > mem->refused ? mem->now - mem->refused : 0;

    return left < reserved_max(mem) ? left : reserved_max(mem);
}

void *roce_mem_get(struct roce_mem *mem, size_t size)
{
    void *p;

    if (size > mem->max || mem->now > mem->max - size ||
        !(p = mem->alloc.alloc(mem->alloc.ctx, size))) {
        mem->limited = true;
        return NULL;
    }
    memset(p, 0, size);
    mem->now += size;
    if (mem->now > mem->peak)
        mem->peak = mem->now;
    mem->tight |= mem->now > reserved_max(mem);
    mem->limited |= mem->tight;
    return p;
}

void *roce_mem_need(struct roce_mem *mem, size_t size)
{
    void *p = roce_mem_get(mem, size);

    if (!p) {
        mem->tight = true;
        if (size > mem->refused)
            mem->refused = size;
    }
    return p;
}

void roce_mem_put(struct roce_mem *mem, void *p, size_t size)
{
    if (!p)
        return;
    mem->alloc.free(mem->alloc.ctx, p, size);
    mem->now -= size;
}
