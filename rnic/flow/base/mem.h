/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory of a flow: the caller's allocator with a limit. An allocation succeeds or fails. It never
 * evicts a connection and never reports a finding. After a failure, `tight` makes roce_evict() free
 * memory before the next packet is judged. Private to flow/.
 */
#ifndef FLOW_BASE_MEM_H
#define FLOW_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include "flow/flow.h"

struct roce_mem {
    struct roce_alloc alloc;
    size_t now, peak, max; /* bytes in use, highest use, and limit; now <= max */
    size_t refused;        /* bytes of the largest request that failed since the last eviction */
    bool tight;            /* a request failed, or `now` is above the low-water mark */
};

/* Returns `size` zeroed bytes, or NULL if the limit is reached or memory is exhausted. */
void *roce_mem_get(struct roce_mem *mem, size_t size);

/* Returns `size` zeroed bytes that a connection needs. Returns NULL on failure; the next eviction
 * then frees at least `size` bytes. */
void *roce_mem_need(struct roce_mem *mem, size_t size);

void roce_mem_put(struct roce_mem *mem, void *p, size_t size); /* Frees the `size` bytes at `p`.
                                                                * `p` may be NULL. */

/* Returns the low-water mark in bytes: eviction continues until memory use is below it. */
size_t roce_mem_low_water(const struct roce_mem *mem);

#endif
