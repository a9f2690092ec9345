/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Heap: nodes sorted by a time (a binary min-heap). The earliest node is found in constant time.
 * Nodes with equal times are returned in the order in which they were set.
 *
 * Used for CM timers, QPs that congestion control delays, delayed CQ notifications, the frames of a
 * delay line (impair/delay_line.h), and the frames of recordings that are merged. A node is a
 * member of an object of the caller. The caller finds the object with offsetof().
 *
 *   1. rnic_heap_reserve() reserves memory for nodes; only this function can fail.
 *   2. rnic_heap_set() inserts, moves or removes a node.
 *   3. rnic_heap_first() returns the earliest node.
 *   4. rnic_heap_free() frees the array; the nodes belong to the caller.
 */
#ifndef RNIC_BASE_HEAP_H
#define RNIC_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Node of a heap. A zeroed node is in no heap. */
struct rnic_heap_node {
    uint64_t at;    /* sort key; for timers and frames a time, ns */
    uint64_t order; /* number of the rnic_heap_set() call that set `at`; if two nodes have equal
                     * `at`, the node with the lower number is earlier */
    size_t slot;    /* index in rnic_heap.node; 0: in no heap */
};

/* Heap of nodes. A zeroed heap is empty. */
struct rnic_heap {
    struct rnic_heap_node **node; /* array of nodes; index 0 is unused */
    size_t cnt, cap;
    uint64_t order;
};

/* Reserves memory for `cnt` nodes, so that rnic_heap_set() cannot fail for up to `cnt` nodes.
 * Returns true, or false if out of memory. */
bool rnic_heap_reserve(struct rnic_heap *heap, size_t cnt);
void rnic_heap_free(struct rnic_heap *heap);

/* Inserts the node with key `at`, or changes its key to `at` if it is in the heap. UINT64_MAX
 * removes the node. */
void rnic_heap_set(struct rnic_heap *heap, struct rnic_heap_node *node, uint64_t at);

/* Returns the node with the earliest key, or NULL. */
static inline struct rnic_heap_node *rnic_heap_first(const struct rnic_heap *heap)
{
    return heap->cnt ? heap->node[1] : NULL;
}

#endif
