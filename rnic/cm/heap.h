/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Heap: objects by when they want time; the first is found at once, however many there are. */
#ifndef RNIC_CM_HEAP_H
#define RNIC_CM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rnic_heap_node {
    uint64_t at; /* UINT64_MAX: never */
    size_t slot; /* 1..cnt; 0: not in the heap */
};

struct rnic_heap {
    struct rnic_heap_node **node; /* from 1 on */
    size_t cnt, cap;
};

/* A zeroed heap is empty. Room for `cnt` nodes, so that setting one cannot fail; false without
 * memory. */
bool rnic_heap_reserve(struct rnic_heap *heap, size_t cnt);
void rnic_heap_free(struct rnic_heap *heap);

/* Puts the node where it belongs for `at`, or takes it out (UINT64_MAX). */
void rnic_heap_set(struct rnic_heap *heap, struct rnic_heap_node *node, uint64_t at);

static inline struct rnic_heap_node *rnic_heap_first(const struct rnic_heap *heap)
{
    return heap->cnt ? heap->node[1] : NULL;
}

#endif
