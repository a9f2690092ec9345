/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Compares the timers of many QPs with a plain list of deadlines: R149-R151. */
#include "device/timer.h"

#include "support/rng.h"
#include "support/suite.h"

#define CNT 50u

static struct rnic_timers timers;
static struct rnic_timer timer[CNT];

static void begin(void)
{
    rnic_timers_init(&timers);
    for (unsigned i = 0; i < CNT; i++)
        rnic_timer_init(&timer[i]);
}

static uint64_t duration(enum rnic_retry_wait wait, uint8_t code)
{
    return wait == RNIC_RETRY_RNR ? 1000u * (code + 1) : UINT64_C(4096) << code;
}

static void one_timer(void)
{
    begin();
    EXPECT_EQ(rnic_timers_next(&timers), RNIC_NEVER);
    rnic_timer_set(&timers, &timer[0], RNIC_RETRY_ACK, 1, 8192);
    EXPECT_EQ(rnic_timers_next(&timers), 8192);
    CU_ASSERT(rnic_timers_due(&timers, 8191) == NULL);
    CU_ASSERT(rnic_timers_due(&timers, 8192) == &timer[0]);
    CU_ASSERT(rnic_timers_due(&timers, 8192) == NULL);
    EXPECT_EQ(rnic_timers_next(&timers), RNIC_NEVER);
    /* A running timer is set to a later time: rnic_timers_next() is exact only after
     * rnic_timers_trim(). */
    rnic_timer_set(&timers, &timer[0], RNIC_RETRY_ACK, 1, 10000);
    rnic_timer_set(&timers, &timer[0], RNIC_RETRY_ACK, 1, 12000);
    CU_ASSERT(rnic_timers_next(&timers) <= 12000);
    rnic_timers_trim(&timers);
    EXPECT_EQ(rnic_timers_next(&timers), 12000);
    CU_ASSERT(rnic_timers_due(&timers, 11999) == NULL);
    /* Now the timer is set for an RNR wait, and then cleared. */
    rnic_timer_set(&timers, &timer[0], RNIC_RETRY_RNR, 31, 500000);
    EXPECT_EQ(rnic_timers_next(&timers), 500000);
    rnic_timer_set(&timers, &timer[0], RNIC_RETRY_IDLE, 0, RNIC_NEVER);
    rnic_timers_trim(&timers);
    EXPECT_EQ(rnic_timers_next(&timers), RNIC_NEVER);
    rnic_timer_del(&timers, &timer[0]);
    rnic_timer_del(&timers, &timer[0]);
}

/* Timers are set, set again, stopped and removed at random. No timer may expire before its time, or
 * later than its duration after this time (R150). rnic_timers_next() must return the time of each
 * expiry. */
static void random_timers_expire_in_time(void)
{
    struct rng rng = rng_of(3);
    uint64_t due[CNT];  /* expiry time of each timer; RNIC_NEVER: not set */
    uint64_t last[CNT]; /* duration of each timer: it must fire before its expiry time plus this
                         * duration, ns */
    uint64_t now = 0;

    begin();
    for (unsigned i = 0; i < CNT; i++)
        due[i] = RNIC_NEVER;
    for (unsigned step = 0; step < 200000; step++) {
        unsigned i = rng_below(&rng, CNT);
        enum rnic_retry_wait wait = rng_below(&rng, 4) ? RNIC_RETRY_ACK : RNIC_RETRY_RNR;
        uint8_t code = (uint8_t)(1 + rng_below(&rng, 3));
        struct rnic_timer *fired;

        switch (rng_below(&rng, 8)) {
        case 0:
            rnic_timer_set(&timers, &timer[i], RNIC_RETRY_IDLE, 0, RNIC_NEVER);
            due[i] = RNIC_NEVER;
            break;
        case 1:
            rnic_timer_del(&timers, &timer[i]);
            due[i] = RNIC_NEVER;
            break;
        case 2: now += rng_below(&rng, 3000); break;
        default:
            last[i] = duration(wait, code);
            due[i] = now + last[i];
            rnic_timer_set(&timers, &timer[i], wait, code, due[i]);
            break;
        }
        rnic_timers_trim(&timers);
        for (unsigned k = 0; k < CNT; k++)
            if (due[k] != RNIC_NEVER && due[k] + last[k] < rnic_timers_next(&timers))
                suite_fail(__FILE__, __LINE__, "step %u: rnic_timers_next() ignores timer %u", step,
                           k);
        while ((fired = rnic_timers_due(&timers, now)) != NULL) {
            i = (unsigned)(fired - timer);
            CU_ASSERT(due[i] <= now);
            due[i] = RNIC_NEVER;
        }
        for (unsigned k = 0; k < CNT; k++)
            if (due[k] != RNIC_NEVER && due[k] + last[k] <= now)
                suite_fail(__FILE__, __LINE__, "step %u: timer %u has not expired in time", step,
                           k);
    }
}

SUITE("device.timer", TEST(one_timer), TEST(random_timers_expire_in_time))
