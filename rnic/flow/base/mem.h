/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory of one analysis (struct roce_flow): the caller's allocator with a limit. An allocation
 * never evicts a connection and never reports a finding, so pointers to connections stay valid. If
 * memory becomes short, `tight` is set, and roce_evict() frees memory before the next packet is
 * judged. Used only in rnic/flow.
 */
#ifndef FLOW_BASE_MEM_H
#define FLOW_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include "flow/flow.h"

struct roce_mem {
    struct roce_alloc alloc;
    size_t now, peak, max; /* bytes in use, highest use, and limit; now <= max */
    size_t refused;        /* largest `size` for which roce_mem_need() failed since the last
                            * eviction, bytes; 0 if none */
    bool limited;          /* `tight` was set at least once, or an allocation failed */
    bool tight;            /* true: roce_evict() must free memory, because roce_mem_need() failed,
                            * or only the reserve is left */
};

/* Returns `size` zeroed bytes, or NULL if the limit is reached or memory is exhausted. A failure
 * causes no eviction. */
void *roce_mem_get(struct roce_mem *mem, size_t size);

/* Like roce_mem_get(), for memory that a connection needs: if it fails, the next eviction frees at
 * least `size` bytes. */
void *roce_mem_need(struct roce_mem *mem, size_t size);

void roce_mem_put(struct roce_mem *mem, void *p, size_t size); /* Frees the `size` bytes at `p`.
                                                                * `p` may be NULL. */

/* Returns the number of bytes in use at which an eviction stops. */
size_t roce_mem_low_water(const struct roce_mem *mem);

#endif
