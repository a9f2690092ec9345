/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory of a flow: the caller's allocator behind a ceiling. An allocation succeeds or fails, and
 * does nothing else: it evicts nothing and reports nothing. `tight` asks roce_evict() to
 * make room before the next packet is judged. Private to flow/.
 */
#ifndef FLOW_BASE_MEM_H
#define FLOW_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include "flow/flow.h"

struct roce_mem {
    struct roce_alloc alloc;
    size_t now, peak, max; /* bytes; now <= max */
    size_t refused;        /* bytes of the largest request that failed since room was made */
    bool tight;            /* a request failed, or `now` is above the low-water mark */
};

/* Returns `size` zeroed bytes, or NULL above the ceiling or without memory. */
void *roce_mem_get(struct roce_mem *mem, size_t size);

/* Returns what roce_mem_get() does, for something that a connection needs: eviction makes room for
 * a request of this size if there is none. */
void *roce_mem_need(struct roce_mem *mem, size_t size);

void roce_mem_put(struct roce_mem *mem, void *p, size_t size); /* NULL is fine */

/* Returns the bytes in use down to which room is to be made. */
size_t roce_mem_low_water(const struct roce_mem *mem);

#endif
