/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "support/rng.h"
#include "support/suite.h"
#include "wire/psn.h"

#define CIRCLE (INT64_C(1) << 24)

/* Returns the difference of two PSNs by its definition: the number d from -2^23 to 2^23-1 for which
 * b + d = a, modulo 2^24. */
static int64_t distance(uint32_t a, uint32_t b)
{
    int64_t d = ((int64_t)a - b + CIRCLE) % CIRCLE;

    return d >= CIRCLE / 2 ? d - CIRCLE : d;
}

static void expect_pair(uint32_t a, uint32_t b)
{
    roce_psn pa = roce_psn_of(a), pb = roce_psn_of(b);
    int64_t d = distance(a, b);

    EXPECT_EQ(roce_psn_diff(pa, pb), (int32_t)d);
    EXPECT_EQ(roce_psn_cmp(pa, pb), d > 0 ? 1 : d < 0 ? -1 : 0);
    EXPECT_EQ(roce_psn_eq(pa, pb), a == b);
    EXPECT_EQ(roce_psn_add(pb, (int32_t)d).v, a);
}

static void psn_order_follows_the_shorter_distance(void)
{
    static const uint32_t edge[] = {0,        1,        2,        0x7FFFFE, 0x7FFFFF, 0x800000,
                                    0x800001, 0xFFFFFE, 0xFFFFFF, 0x123456, 0x923456, 0x923457};
    struct rng rng = rng_seed();

    for (unsigned i = 0; i < sizeof(edge) / sizeof(*edge); i++)
        for (unsigned j = 0; j < sizeof(edge) / sizeof(*edge); j++)
            expect_pair(edge[i], edge[j]);
    for (int i = 0; i < 100000; i++)
        expect_pair(rng_below(&rng, 1 << 24), rng_below(&rng, 1 << 24));
}

static void psn_wraps(void)
{
    EXPECT_EQ(roce_psn_add(roce_psn_of(0), -1).v, 0xFFFFFF);
    EXPECT_EQ(roce_psn_add(roce_psn_of(0xFFFFF0), 0x20).v, 0x10);
    EXPECT_EQ(roce_psn_of(0x12345678).v, 0x345678);
    EXPECT_EQ(roce_psn_cmp(roce_psn_of(0), roce_psn_of(0xFFFFFF)), 1);
}

/* Of all PSNs, the 2^23 before the expected PSN must count as duplicates, and the 2^23 - 1 after it
 * as out of order. */
static void half_the_psn_space_is_duplicate(void)
{
    for (uint32_t expected = 0; expected < CIRCLE; expected += 0x10001) {
        roce_psn e = roce_psn_of(expected);

        CU_ASSERT(roce_psn_cmp(roce_psn_add(e, -(1 << 23)), e) < 0);
        CU_ASSERT(roce_psn_cmp(roce_psn_add(e, (1 << 23) - 1), e) > 0);
    }
}

static void message_uses_one_psn_per_packet(void)
{
    for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
        EXPECT_EQ(roce_psn_cnt(0, mtu), 1);
        EXPECT_EQ(roce_psn_cnt(1, mtu), 1);
        EXPECT_EQ(roce_psn_cnt(mtu - 1, mtu), 1);
        EXPECT_EQ(roce_psn_cnt(mtu, mtu), 1);
        EXPECT_EQ(roce_psn_cnt(mtu + 1, mtu), 2);
        EXPECT_EQ(roce_psn_cnt(UINT32_MAX, mtu), (UINT64_C(1) << 32) / mtu);
    }
}

SUITE("wire.psn", TEST(psn_order_follows_the_shorter_distance), TEST(psn_wraps),
      TEST(half_the_psn_space_is_duplicate), TEST(message_uses_one_psn_per_packet))
