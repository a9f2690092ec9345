/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the order and the times in which frames arrive from a delay line. */
#include "impair/delay_line.h"
#include "support/rng.h"
#include "support/suite.h"

static struct delay_line line;

/* Takes all frames from the line, and checks that they arrive in the order `order`. */
static void expect_order(const struct delay_entry *entry, const unsigned *order, unsigned cnt)
{
    for (unsigned i = 0; i < cnt; i++)
        EXPECT_EQ(delay_line_take(&line, UINT64_MAX) - entry, order[i]);
    CU_ASSERT(delay_line_take(&line, UINT64_MAX) == NULL);
    EXPECT_EQ(delay_line_due(&line), UINT64_MAX);
    delay_line_free(&line);
}

static void frames_arrive_by_time_then_in_the_order_sent(void)
{
    struct delay_entry entry[4];

    CU_ASSERT(delay_line_put(&line, &entry[0], 30, 0, 0));
    CU_ASSERT(delay_line_put(&line, &entry[1], 10, 0, 0));
    CU_ASSERT(delay_line_put(&line, &entry[2], 30, 0, 1));
    CU_ASSERT(delay_line_put(&line, &entry[3], 20, 0, 0));
    EXPECT_EQ(delay_line_due(&line), 10);
    CU_ASSERT(delay_line_take(&line, 9) == NULL);
    CU_ASSERT(delay_line_take(&line, 10) == &entry[1]);
    expect_order(entry, (const unsigned[]){3, 0, 2}, 3);
}

static void a_held_frame_arrives_right_after_the_last_that_overtakes_it(void)
{
    struct delay_entry entry[5];

    delay_line_put(&line, &entry[0], 10, 2, 0);
    for (unsigned i = 1; i < 5; i++)
        delay_line_put(&line, &entry[i], 10 + i, 0, 0);
    CU_ASSERT(delay_line_take(&line, 100) == &entry[1]);
    EXPECT_EQ(delay_line_due(&line), 12);
    CU_ASSERT(delay_line_take(&line, 100) == &entry[2]);
    EXPECT_EQ(delay_line_due(&line), 12);
    expect_order(entry, (const unsigned[]){0, 3, 4}, 3);
}

static void a_held_frame_waits_at_most_a_millisecond(void)
{
    struct delay_entry entry[2];

    delay_line_put(&line, &entry[0], 10, 3, 0);
    EXPECT_EQ(delay_line_due(&line), 10 + DELAY_LINE_HOLD_NS);
    delay_line_put(&line, &entry[1], 20, 0, 0);
    expect_order(entry, (const unsigned[]){1, 0}, 2);
}

static void frames_of_another_lane_overtake_nothing(void)
{
    struct delay_entry entry[3];

    delay_line_put(&line, &entry[0], 10, 1, 0);
    delay_line_put(&line, &entry[1], 11, 0, 1);
    delay_line_put(&line, &entry[2], 12, 0, 0);
    CU_ASSERT(delay_line_take(&line, 100) == &entry[1]);
    EXPECT_EQ(delay_line_due(&line), 12);
    expect_order(entry, (const unsigned[]){2, 0}, 2);
}

/* Many random frames. Each must arrive once, and the times of arrival must not decrease. A frame
 * must arrive exactly at its time, unless it waits until other frames have overtaken it. */
static void random_frames_arrive_once_and_in_order(void)
{
    enum { FRAMES = 2000 };
    static struct delay_entry entry[FRAMES];
    static bool came[FRAMES];
    static uint64_t due[FRAMES];
    static bool held[FRAMES];
    struct rng rng = rng_seed();
    uint64_t last = 0;

    for (unsigned i = 0; i < FRAMES; i++) {
        due[i] = rng_below(&rng, 5000);
        held[i] = rng_below(&rng, 10) == 0;
        CU_ASSERT(delay_line_put(&line, &entry[i], due[i], held[i] ? 1 + rng_below(&rng, 5) : 0,
                                 rng_below(&rng, 2)));
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        uint64_t when = delay_line_due(&line);
        struct delay_entry *next = delay_line_take(&line, when);
        size_t at = (size_t)(next - entry);

        CU_ASSERT_FATAL(next != NULL && !came[at]);
        came[at] = true;
        CU_ASSERT(when >= last && (when == due[at] || held[at]));
        last = when;
    }
    expect_order(entry, NULL, 0);
}

SUITE("impair.delay_line", TEST(frames_arrive_by_time_then_in_the_order_sent),
      TEST(a_held_frame_arrives_right_after_the_last_that_overtakes_it),
      TEST(a_held_frame_waits_at_most_a_millisecond), TEST(frames_of_another_lane_overtake_nothing),
      TEST(random_frames_arrive_once_and_in_order))
