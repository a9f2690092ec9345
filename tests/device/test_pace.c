/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Compares the heap of QPs delayed by CNPs with a plain list. */
#include "device/pace.h"

#include "support/rng.h"
#include "support/suite.h"

#define CNT 100u

static struct rnic_cc cc[CNT];

static rnic_time least(void)
{
    rnic_time min = RNIC_NEVER;

    for (unsigned i = 0; i < CNT; i++)
        if (cc[i].paced.slot && cc[i].paced.at < min)
            min = cc[i].paced.at;
    return min;
}

static void as_a_list_would(void)
{
    struct rnic_pacer pacer = {0};
    struct rng rng = rng_of(3);
    rnic_time now = 0;

    for (unsigned i = 0; i < CNT; i++)
        CU_ASSERT(rnic_pacer_grow(&pacer));
    for (unsigned k = 0; k < 20000; k++) {
        unsigned i = rng_below(&rng, CNT);

        switch (rng_below(&rng, 3)) {
        case 0:
        case 1: rnic_pacer_add(&pacer, &cc[i], now + rng_below(&rng, 1000)); break;
        default: rnic_pacer_del(&pacer, &cc[i]); break;
        }
        EXPECT_EQ(rnic_pacer_next(&pacer), least());
        if (rng_below(&rng, 4) == 0) {
            rnic_time min = least(), at[CNT];
            struct rnic_cc *due;

            for (i = 0; i < CNT; i++)
                at[i] = cc[i].paced.at;
            now += rng_below(&rng, 500);
            due = rnic_pacer_due(&pacer, now);
            CU_ASSERT((due != NULL) == (min <= now));
            if (due) {
                EXPECT_EQ(at[due - cc], min);
                EXPECT_EQ(due->paced.slot, 0);
            }
        }
    }
    rnic_pacer_free(&pacer);
}

SUITE("pace", TEST(as_a_list_would))
