/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/hist.h"

#include "support/rng.h"
#include "support/suite.h"

static void empty_is_zero(void)
{
    struct roce_hist h = {0};

    EXPECT_EQ(roce_hist_quantile(&h, 500), 0);
    EXPECT_EQ(roce_hist_quantile(NULL, 500), 0);
}

static void one_sample_is_every_quantile(void)
{
    struct roce_hist h = {0};

    roce_hist_add(&h, 123456);
    EXPECT_EQ(roce_hist_quantile(&h, 1), 123456);
    EXPECT_EQ(roce_hist_quantile(&h, 500), 123456);
    EXPECT_EQ(roce_hist_quantile(&h, 1000), 123456);
}

static void quantiles_are_within_a_bucket(void)
{
    struct roce_hist h = {0};

    for (uint64_t i = 1; i <= 10000; i++)
        roce_hist_add(&h, i * 1000);
    for (unsigned p = 10; p < 1000; p += 10) {
        uint64_t want = p * 10000, got = roce_hist_quantile(&h, p);

        CU_ASSERT(got > want - want / 7 && got < want + want / 7);
    }
    EXPECT_EQ(h.min, 1000);
    EXPECT_EQ(h.max, 10000000);
}

static void extremes_stay_in_the_table(void)
{
    struct roce_hist h = {0};

    roce_hist_add(&h, 0);
    roce_hist_add(&h, UINT64_MAX);
    EXPECT_EQ(h.total, 2);
    EXPECT_EQ(h.cnt[0], 1);
    EXPECT_EQ(h.cnt[ROCE_HIST_BUCKETS - 1], 1);
}

SUITE("flow.hist", TEST(empty_is_zero), TEST(one_sample_is_every_quantile),
      TEST(quantiles_are_within_a_bucket), TEST(extremes_stay_in_the_table))
