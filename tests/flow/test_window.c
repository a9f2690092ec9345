/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/window.h"

#include <stdlib.h>
#include "support/rng.h"
#include "support/suite.h"

static void *get(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static void put(void *ctx, void *p, size_t size)
{
    (void)ctx;
    (void)size;
    free(p);
}

static struct roce_mem mem_of(size_t max)
{
    return (struct roce_mem){.alloc = {get, put, NULL}, .max = max};
}

static void push(struct roce_window *w, struct roce_mem *mem, uint32_t psn, uint32_t span,
                 uint32_t max)
{
    uint64_t over = 0;
    uint32_t at = w->cnt;
    struct roce_sent_packet *e = roce_window_insert(w, &at, max, mem, &over);

    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    e->psn = psn & 0xFFFFFF;
    e->psn_cnt = span;
}

static void finds_across_the_wrap(void)
{
    struct roce_mem mem = mem_of(1 << 20);
    struct roce_window w = {0};

    for (uint32_t i = 0; i < 40; i++)
        push(&w, &mem, 0xFFFFF0 + i * 2, i % 3 == 0 ? 2 : 1, 64);
    for (uint32_t i = 0; i < 40; i++) {
        struct roce_sent_packet *e = roce_window_get(&w, (0xFFFFF0 + i * 2) & 0xFFFFFF);

        CU_ASSERT_PTR_NOT_NULL_FATAL(e);
        EXPECT_EQ(e->psn, (0xFFFFF0 + i * 2) & 0xFFFFFF);
        e = roce_window_get(&w, (0xFFFFF1 + i * 2) & 0xFFFFFF);
        CU_ASSERT((e != NULL) == (i % 3 == 0));
    }
    EXPECT_EQ(roce_window_find(&w, 0x40), 40);
    roce_window_free(&w, &mem);
    EXPECT_EQ(mem.now, 0);
}

static void oldest_entry_is_dropped_at_the_limit(void)
{
    struct roce_mem mem = mem_of(1 << 20);
    struct roce_window w = {0};

    for (uint32_t i = 0; i < 100; i++)
        push(&w, &mem, i, 1, 16);
    EXPECT_EQ(w.cnt, 16);
    EXPECT_EQ(roce_window_at(&w, 0)->psn, 84);
    CU_ASSERT_PTR_NULL(roce_window_get(&w, 83));
    roce_window_free(&w, &mem);
}

static void acknowledged_entries_cause_no_growth(void)
{
    struct roce_mem mem = mem_of(1 << 20);
    struct roce_window w = {0};

    for (uint32_t i = 0; i < 1000; i++) {
        push(&w, &mem, i, 1, 1024);
        w.acked = w.cnt;
    }
    EXPECT_EQ(w.cap, ROCE_WINDOW_MIN);
    roce_window_free(&w, &mem);
}

static void insert_keeps_the_order(void)
{
    struct rng rng = rng_seed();
    struct roce_mem mem = mem_of(1 << 20);
    struct roce_window w = {0};
    bool in[200] = {false};

    push(&w, &mem, 0, 1, 256);
    for (int n = 0; n < 400; n++) {
        uint32_t psn = 1 + rng_below(&rng, 199), at;
        uint64_t over = 0;
        struct roce_sent_packet *e;

        if (in[psn])
            continue;
        in[psn] = true;
        at = roce_window_find(&w, psn);
        e = roce_window_insert(&w, &at, 256, &mem, &over);
        CU_ASSERT_PTR_NOT_NULL_FATAL(e);
        e->psn = psn;
        e->psn_cnt = 1;
        for (uint32_t i = 1; i < w.cnt; i++)
            CU_ASSERT(roce_window_at(&w, i - 1)->psn < roce_window_at(&w, i)->psn);
    }
    roce_window_free(&w, &mem);
}

static void without_memory_nothing_is_kept(void)
{
    struct roce_mem mem = mem_of(16);
    struct roce_window w = {0};
    uint64_t over = 0;
    uint32_t at = 0;

    CU_ASSERT_PTR_NULL(roce_window_insert(&w, &at, 64, &mem, &over));
    CU_ASSERT_PTR_NULL(roce_window_get(&w, 1));
    roce_window_free(&w, &mem);
}

SUITE("flow.window", TEST(finds_across_the_wrap), TEST(oldest_entry_is_dropped_at_the_limit),
      TEST(acknowledged_entries_cause_no_growth), TEST(insert_keeps_the_order),
      TEST(without_memory_nothing_is_kept))
