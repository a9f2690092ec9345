/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "base/heap.h"

#include <stdlib.h>

bool rnic_heap_reserve(struct rnic_heap *heap, size_t cnt)
{
    size_t cap = heap->cap ? heap->cap : 64;
    struct rnic_heap_node **node;

    if (cnt < heap->cap)
        return true;
    while (cap <= cnt)
        cap *= 2;
    node = realloc(heap->node, cap * sizeof(struct rnic_heap_node *));
    if (!node)
        return false;
    heap->node = node;
    heap->cap = cap;
    return true;
}

void rnic_heap_free(struct rnic_heap *heap)
{
    free(heap->node);
    *heap = (struct rnic_heap){0};
}

static bool is_earlier(const struct rnic_heap_node *a, const struct rnic_heap_node *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void put_node(struct rnic_heap *heap, size_t slot, struct rnic_heap_node *node)
{
    heap->node[slot] = node;
    node->slot = slot;
}

/* Moves the node at `slot` up or down in the heap, until its parent is not later and its children
 * are not earlier. */
static void sift_node(struct rnic_heap *heap, size_t slot)
{
    struct rnic_heap_node *node = heap->node[slot];

    while (slot > 1 && is_earlier(node, heap->node[slot / 2])) {
        put_node(heap, slot, heap->node[slot / 2]);
        slot /= 2;
    }
    while (2 * slot <= heap->cnt) {
        size_t child = 2 * slot;

        if (child < heap->cnt && is_earlier(heap->node[child + 1], heap->node[child]))
            child++;
        if (!is_earlier(heap->node[child], node))
            break;
        put_node(heap, slot, heap->node[child]);
        slot = child;
    }
    put_node(heap, slot, node);
}

void rnic_heap_set(struct rnic_heap *heap, struct rnic_heap_node *node, uint64_t at)
{
    size_t slot = node->slot;

    node->at = at;
    node->order = heap->order++;
    if (at != UINT64_MAX) {
        if (slot == 0)
            put_node(heap, slot = ++heap->cnt, node);
        sift_node(heap, slot);
        return;
    }
    if (slot == 0)
        return;
    node->slot = 0;
    if (slot < heap->cnt) {
        put_node(heap, slot, heap->node[heap->cnt--]);
        sift_node(heap, slot);
    } else {
        heap->cnt--;
    }
}
