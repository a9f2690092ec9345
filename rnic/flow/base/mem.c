/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/mem.h"

#include <string.h>

void *roce_mem_get(struct roce_mem *mem, size_t size)
{
    void *p;

    if (size > mem->max || mem->now > mem->max - size)
        return NULL;
    p = mem->alloc.alloc(mem->alloc.ctx, size);
    if (!p)
        return NULL;
    memset(p, 0, size);
    mem->now += size;
    if (mem->now > mem->peak)
        mem->peak = mem->now;
    return p;
}

void roce_mem_put(struct roce_mem *mem, void *p, size_t size)
{
    if (!p)
        return;
    mem->alloc.free(mem->alloc.ctx, p, size);
    mem->now -= size;
}
