/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "base/entropy.h"
#include "support/suite.h"

#define CNT 1000u

/* Returns how many of CNT numbers drawn from two sources are equal. */
static unsigned count_equal(struct rnic_entropy *a, struct rnic_entropy *b)
{
    unsigned equal = 0;

    for (unsigned i = 0; i < CNT; i++)
        equal += rnic_entropy_u32(a) == rnic_entropy_u32(b);
    return equal;
}

static void one_seed_gives_one_sequence(void)
{
    struct rnic_entropy a, b, other;

    rnic_entropy_init(&a, 7, false);
    rnic_entropy_init(&b, 7, false);
    EXPECT_EQ(count_equal(&a, &b), CNT);
    rnic_entropy_init(&a, 7, false);
    rnic_entropy_init(&other, 8, false);
    CU_ASSERT(count_equal(&a, &other) < 2);
}

static void unpredictable_numbers_ignore_the_seed(void)
{
    struct rnic_entropy a, b, seeded;

    rnic_entropy_init(&a, 7, true);
    rnic_entropy_init(&b, 7, true);
    CU_ASSERT(count_equal(&a, &b) < 2);
    rnic_entropy_init(&seeded, 7, false);
    CU_ASSERT(count_equal(&a, &seeded) < 2);
}

static void every_bit_changes(void)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rnic_entropy entropy;
        uint32_t ones = 0, zeros = 0;

        rnic_entropy_init(&entropy, 0, i);
        for (unsigned n = 0; n < 100; n++) {
            uint32_t drawn = rnic_entropy_u32(&entropy);

            ones |= drawn;
            zeros |= ~drawn;
        }
        EXPECT_EQ(ones, UINT32_MAX);
        EXPECT_EQ(zeros, UINT32_MAX);
    }
}

SUITE("base.entropy", TEST(one_seed_gives_one_sequence),
      TEST(unpredictable_numbers_ignore_the_seed), TEST(every_bit_changes))
