/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cm/heap.h"

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

static void put(struct rnic_heap *heap, size_t place, struct rnic_heap_node *node)
{
    heap->node[place] = node;
    node->place = place;
}

/* Moves what may stand wrong at `place` up or down. */
static void settle(struct rnic_heap *heap, size_t place)
{
    struct rnic_heap_node *node = heap->node[place];

    while (place > 1 && heap->node[place / 2]->at > node->at) {
        put(heap, place, heap->node[place / 2]);
        place /= 2;
    }
    while (2 * place <= heap->cnt) {
        size_t child = 2 * place;

        if (child < heap->cnt && heap->node[child + 1]->at < heap->node[child]->at)
            child++;
        if (heap->node[child]->at >= node->at)
            break;
        put(heap, place, heap->node[child]);
        place = child;
    }
    put(heap, place, node);
}

void rnic_heap_set(struct rnic_heap *heap, struct rnic_heap_node *node, uint64_t at)
{
    size_t place = node->place;

    node->at = at;
    if (at != UINT64_MAX) {
        if (place == 0)
            put(heap, place = ++heap->cnt, node);
        settle(heap, place);
        return;
    }
    if (place == 0)
        return;
    node->place = 0;
    if (place < heap->cnt) {
        put(heap, place, heap->node[heap->cnt--]);
        settle(heap, place);
    } else {
        heap->cnt--;
    }
}
