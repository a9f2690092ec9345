/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory of a flow: the caller's allocator behind a ceiling. Private to flow/.
 */
#ifndef FLOW_BASE_MEM_H
#define FLOW_BASE_MEM_H

#include <stddef.h>
#include "flow/flow.h"

struct roce_mem {
    struct roce_alloc alloc;
    size_t now, peak, max; /* bytes; now <= max */
};

/* `size` zeroed bytes, or NULL above the ceiling or without memory. */
void *roce_mem_get(struct roce_mem *mem, size_t size);
void roce_mem_put(struct roce_mem *mem, void *p, size_t size); /* NULL is fine */

#endif
