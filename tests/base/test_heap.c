/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "base/heap.h"
#include "support/rng.h"
#include "support/suite.h"

#define NODES 200

/* Sets and removes nodes at random. The first node of the heap must be the earliest of all
 * nodes. */
static void first_is_the_earliest(void)
{
    static struct rnic_heap_node node[NODES];
    struct rnic_heap heap = {0};
    struct rng rng = rng_seed();

    CU_ASSERT_FATAL(rnic_heap_reserve(&heap, NODES));
    for (unsigned i = 0; i < NODES; i++)
        node[i].at = UINT64_MAX;
    for (unsigned run = 0; run < 20000; run++) {
        uint64_t least = UINT64_MAX;

        rnic_heap_set(&heap, &node[rng_below(&rng, NODES)],
                      rng_below(&rng, 3) ? rng_below(&rng, 1000) : UINT64_MAX);
        for (unsigned i = 0; i < NODES; i++)
            if (node[i].at < least)
                least = node[i].at;
        if (least == UINT64_MAX)
            CU_ASSERT_PTR_NULL(rnic_heap_first(&heap))
        else
            EXPECT_EQ(rnic_heap_first(&heap)->at, least);
    }
    rnic_heap_free(&heap);
}

static void equal_times_keep_their_order(void)
{
    static struct rnic_heap_node node[NODES];
    struct rnic_heap heap = {0};
    struct rng rng = rng_seed();

    CU_ASSERT_FATAL(rnic_heap_reserve(&heap, NODES));
    for (unsigned i = 0; i < NODES; i++)
        rnic_heap_set(&heap, &node[i], rng_below(&rng, 5));
    for (uint64_t at = 0, order = 0; heap.cnt > 0;) {
        struct rnic_heap_node *first = rnic_heap_first(&heap);

        CU_ASSERT(first->at > at || (first->at == at && first->order >= order));
        at = first->at;
        order = first->order;
        rnic_heap_set(&heap, first, UINT64_MAX);
    }
    rnic_heap_free(&heap);
}

SUITE("base.heap", TEST(first_is_the_earliest), TEST(equal_times_keep_their_order))
