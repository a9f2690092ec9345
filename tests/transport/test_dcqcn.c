/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Compares DCQCN with a second implementation: the formulas of Zhu et al., SIGCOMM 2015, section
 * 5.1 (equations 1 to 4), in floating point and step by step (R218 of rnic/rules.md). */
#include "transport/dcqcn.h"

#include <math.h>
#include "support/rng.h"
#include "support/suite.h"

#define US   UINT64_C(1000)
#define GBPS 1e9

/* Returns the parameters of the paper (section 5.2 and table of section 6): F 5 (increases until
 * the recovery ends), B 10 MB and T 55 us (bytes and time per increase), g 1/256, R_AI 40 Mb/s
 * (additive increase). alpha begins at 1 and is updated every 55 us. */
static struct rnic_dcqcn_attr paper(void)
{
    struct rnic_dcqcn_attr attr;

    rnic_dcqcn_defaults(&attr);
    attr.rpg_max_rate = 40000;
    attr.rpg_ai_rate = 40;
    attr.rpg_hai_rate = 400;
    attr.rpg_time_reset = 55;
    attr.rpg_byte_reset = 10000000;
    attr.rpg_threshold = 5;
    attr.rpg_min_dec_fac = 0;
    attr.dce_tcp_g = 1020;
    attr.dce_tcp_rtt = 55;
    attr.rate_reduce_monitor_period = 0;
    attr.clamp_tgt_rate = 1;
    attr.max_burst_sz = 0;
    return attr;
}

/* Returns the rate at time `now`, bits per second. */
static uint64_t rate_at(struct rnic_dcqcn *dc, const struct rnic_dcqcn_attr *attr, uint64_t now)
{
    (void)rnic_dcqcn_next(dc, attr, now); /* applies the timer events up to `now` */
    return dc->limited ? dc->rate : attr->rpg_max_rate * UINT64_C(1000000);
}

static void expect_near(double actual, double expected, double relative, const char *what)
{
    if (fabs(actual - expected) > relative * expected)
        suite_fail(__FILE__, __LINE__, "%s: %.0f, but %.0f by the formulas of the paper", what,
                   actual, expected);
    else
        CU_ASSERT(true);
}

static void no_limit_before_first_cnp(void)
{
    struct rnic_dcqcn_attr attr = paper();
    struct rnic_dcqcn dc;

    rnic_dcqcn_init(&dc);
    EXPECT_EQ(rate_at(&dc, &attr, 0), UINT64_C(40000000000));
    rnic_dcqcn_sent(&dc, &attr, 4096, 0);
    CU_ASSERT(rnic_dcqcn_next(&dc, &attr, 0) == 0);
}

/* Equation 1, at each CNP: the target rate R_T becomes R_C, the current rate R_C is cut to R_C (1 -
 * alpha / 2), and alpha becomes (1 - g) alpha + g. */
static void cnp_cuts_rate_by_alpha(void)
{
    struct rnic_dcqcn_attr attr = paper();
    struct rnic_dcqcn dc;
    double rate = 40 * GBPS;
    double alpha = 1023.0 / 1024;

    rnic_dcqcn_init(&dc);
    attr.rpg_time_reset = 131071; /* prevents an increase between the cuts */
    for (unsigned i = 0; i < 12; i++) {
        rnic_dcqcn_cnp(&dc, &attr, i * 55 * US);
        EXPECT_EQ(dc.target, rate + 0.5);
        rate *= 1 - alpha / 2;
        alpha = alpha * (1 - 1.0 / 256) + 1.0 / 256;
        expect_near((double)rate_at(&dc, &attr, i * 55 * US), rate, 1e-4, "rate");
        rate = (double)dc.rate;
    }
}

/* Equation 2: in each period without a CNP, alpha becomes (1 - g) alpha. A second cut after n
 * periods shows the value of alpha. */
static void alpha_decays_without_cnps(void)
{
    const unsigned waits[] = {1, 2, 10, 100, 1000, 100000};

    for (unsigned i = 0; i < 6; i++) {
        struct rnic_dcqcn_attr attr = paper();
        struct rnic_dcqcn dc;
        uint64_t now = waits[i] * 55 * US;
        double alpha = 1023.0 / 1024 * 255 / 256 + 1.0 / 256; /* the first period had a CNP */
        double before;

        attr.rpg_time_reset = 131071;
        attr.rpg_ai_rate = 0;
        attr.rpg_threshold = 31;
        rnic_dcqcn_init(&dc);
        rnic_dcqcn_cnp(&dc, &attr, 0);
        before = (double)rate_at(&dc, &attr, now);
        rnic_dcqcn_cnp(&dc, &attr, now);
        if (before >= 40 * GBPS) { /* the rate had returned to the maximum, so alpha starts at 1
                                    * again */
            alpha = 1023.0 / 1024;
        } else {
            alpha *= pow(255.0 / 256, waits[i] - 1);
            if (alpha * 256 * 1024 < 64) /* below the resolution of alpha, 2^-20 */
                alpha = 0;
        }
        expect_near((double)dc.rate, before * (1 - alpha / 2), 2e-3, "rate");
    }
}

/* The first F - 1 events raise the rate halfway to R_T (equation 3). Each later event adds R_AI to
 * R_T (equation 4). */
static void recovery_precedes_additive_increase(void)
{
    struct rnic_dcqcn_attr attr = paper();
    struct rnic_dcqcn dc;
    double rate, target;

    rnic_dcqcn_init(&dc);
    for (unsigned i = 0; i < 4; i++)
        rnic_dcqcn_cnp(&dc, &attr, 0);
    rate = (double)dc.rate;
    target = (double)dc.target;
    for (unsigned k = 1; k <= 200; k++) {
        uint64_t at = k * 55 * US;

        expect_near((double)rate_at(&dc, &attr, at - 1), rate, 1e-6, "before the event");
        if (k >= 5)
            target += 40e6;
        rate = (rate + target) / 2;
        expect_near((double)rate_at(&dc, &attr, at), rate, 1e-6, "after the event");
        EXPECT_EQ(rnic_dcqcn_phase(&dc, &attr), k < 5 ? RNIC_DCQCN_RECOVERY : RNIC_DCQCN_ADDITIVE);
    }
}

/* One call after n timer events must yield the same rate as n calls, one after each event. */
static void one_late_call_equals_many_calls(void)
{
    struct rng rng = rng_of(5);

    for (unsigned i = 0; i < 200; i++) {
        struct rnic_dcqcn_attr attr = paper();
        struct rnic_dcqcn slow, fast;
        uint64_t now = 0;
        uint64_t end;

        attr.rpg_ai_rate = rng_below(&rng, 100);
        attr.rpg_threshold = 1 + rng_below(&rng, 5);
        attr.clamp_tgt_rate = rng_below(&rng, 2);
        attr.rate_reduce_monitor_period = rng_below(&rng, 100);
        rnic_dcqcn_init(&slow);
        for (unsigned k = rng_below(&rng, 6) + 1; k; k--)
            rnic_dcqcn_cnp(&slow, &attr, now += rng_below(&rng, 100000));
        fast = slow;
        end = now + rng_below(&rng, 200) * 55 * US;
        for (uint64_t t = now; t < end; t += 7 * US)
            rate_at(&slow, &attr, t);
        EXPECT_EQ(rate_at(&slow, &attr, end), rate_at(&fast, &attr, end));
        EXPECT_EQ(slow.limited, fast.limited);
        if (slow.limited)
            EXPECT_EQ(slow.target, fast.target);
    }
}

/* Increases caused by the number of bytes sent count like those caused by the timer. When the
 * numbers of both exceed F, the phase is hyper increase. */
static void bytes_and_timer_lead_to_hyper_increase(void)
{
    struct rnic_dcqcn_attr attr = paper();
    struct rnic_dcqcn dc;
    uint64_t target;

    attr.rpg_byte_reset = 1000;
    attr.rpg_threshold = 2;
    rnic_dcqcn_init(&dc);
    for (unsigned i = 0; i < 5; i++)
        rnic_dcqcn_cnp(&dc, &attr, 0);
    target = dc.target;
    rnic_dcqcn_sent(&dc, &attr, 999, 0);
    EXPECT_EQ(dc.byte_increases, 0);
    rnic_dcqcn_sent(&dc, &attr, 1, 0);
    EXPECT_EQ(dc.byte_increases, 1);
    EXPECT_EQ(dc.target, target);
    /* BC is the number of byte increases, T the number of timer increases, F = 2 is rpg_threshold.
     * BC becomes 2 and then 3. Both times max(T, BC) is at least F, so both increases are additive
     */
    rnic_dcqcn_sent(&dc, &attr, 2000, 0);
    EXPECT_EQ(dc.target, target + 80000000);
    rate_at(&dc, &attr, 3 * 55 * US); /* With T = 1 and T = 2, the increases are additive; with
                                       * T = 3, min(T, BC) exceeds F: hyper increase */
    EXPECT_EQ(dc.target, target + 80000000 + 80000000 + 400000000);
    EXPECT_EQ(rnic_dcqcn_phase(&dc, &attr), RNIC_DCQCN_HYPER);
}

/* Without further CNPs the rate returns to the maximum, and the QP is no longer limited (CA17-46).
 */
static void returns_to_full_rate(void)
{
    struct rnic_dcqcn_attr attr = paper();
    struct rnic_dcqcn dc;
    uint64_t now = 0;

    rnic_dcqcn_init(&dc);
    for (unsigned i = 0; i < 500; i++)
        rnic_dcqcn_cnp(&dc, &attr, now += 55 * US);
    CU_ASSERT(dc.rate < 40000000 && dc.rate >= 1000000);
    EXPECT_EQ(rate_at(&dc, &attr, now + 10 * UINT64_C(1000000000)), 40000000000);
    CU_ASSERT(!dc.limited);
    CU_ASSERT(rnic_dcqcn_next(&dc, &attr, now + 10 * UINT64_C(1000000000)) == 0);
}

/* Parameters that only vendors define change the cuts: rpg_min_rate, rpg_min_dec_fac,
 * rate_to_set_on_first_cnp, rate_reduce_monitor_period, clamp_tgt_rate*. */
static void vendor_parameters_change_cuts(void)
{
    struct rnic_dcqcn_attr attr = paper();
    struct rnic_dcqcn dc;

    attr.rpg_min_rate = 1000;
    attr.rpg_time_reset = 131071;
    rnic_dcqcn_init(&dc);
    for (unsigned i = 0; i < 50; i++)
        rnic_dcqcn_cnp(&dc, &attr, 0);
    EXPECT_EQ(dc.rate, 1000000000);

    attr.rpg_min_dec_fac = 80;
    rnic_dcqcn_init(&dc);
    rnic_dcqcn_cnp(&dc, &attr, 0);
    EXPECT_EQ(dc.rate, 32000000000);

    attr.rate_to_set_on_first_cnp = 5000;
    rnic_dcqcn_init(&dc);
    rnic_dcqcn_cnp(&dc, &attr, 0);
    EXPECT_EQ(dc.rate, 5000000000);
    EXPECT_EQ(dc.target, 5000000000);

    attr.rate_to_set_on_first_cnp = 0;
    attr.rate_reduce_monitor_period = 10;
    rnic_dcqcn_init(&dc);
    rnic_dcqcn_cnp(&dc, &attr, 0);
    rnic_dcqcn_cnp(&dc, &attr, 1 * US);
    rnic_dcqcn_cnp(&dc, &attr, 2 * US);
    EXPECT_EQ(rate_at(&dc, &attr, 10 * US - 1), 32000000000);
    EXPECT_EQ(rate_at(&dc, &attr, 10 * US), 25600000000);
    rnic_dcqcn_cnp(&dc, &attr, 12 * US);
    EXPECT_EQ(rate_at(&dc, &attr, 20 * US), 20480000000);

    attr.rate_reduce_monitor_period = 0;
    attr.clamp_tgt_rate = 0; /* without an increase since the previous cut the target does not
                              * change */
    rnic_dcqcn_init(&dc);
    rnic_dcqcn_cnp(&dc, &attr, 0);
    rnic_dcqcn_cnp(&dc, &attr, 1);
    EXPECT_EQ(dc.target, 40000000000);
    rnic_dcqcn_sent(&dc, &attr, 10000000, 2); /* after an increase by bytes the target is set to the
                                               * rate */
    rnic_dcqcn_cnp(&dc, &attr, 3);
    CU_ASSERT(dc.target < 40000000000);
}

/* Packets are spaced by the rate. After an idle time at most max_burst_sz bytes are sent at once.
 */
static void packets_are_spaced_by_rate(void)
{
    struct rnic_dcqcn_attr attr = paper();
    struct rnic_dcqcn dc;
    uint64_t now = 0;
    unsigned burst = 0;

    attr.rpg_time_reset = 131071;
    rnic_dcqcn_init(&dc);
    rnic_dcqcn_cnp(&dc, &attr, 0);
    attr.max_burst_sz = 3000;
    for (unsigned i = 0; i < 1000; i++) {
        rnic_dcqcn_sent(&dc, &attr, 1000, now);
        now = rnic_dcqcn_next(&dc, &attr, now);
    }
    expect_near(1000 * 8000.0 / (double)now * 1e9, (double)dc.rate, 0.01, "pace");
    now += 1000 * US;
    while (rnic_dcqcn_next(&dc, &attr, now) <= now) {
        rnic_dcqcn_sent(&dc, &attr, 1000, now);
        burst++;
    }
    CU_ASSERT(burst == 3 || burst == 4);
}

/* For any sequence of calls the rate remains within its limits, and time never lowers the rate. */
static void rate_stays_between_minimum_and_maximum(void)
{
    struct rng rng = rng_of(9);

    for (unsigned run = 0; run < 100; run++) {
        struct rnic_dcqcn_attr attr;
        struct rnic_dcqcn dc;
        uint64_t now = 0;

        rnic_dcqcn_defaults(&attr);
        attr.rpg_min_rate = 1 + rng_below(&rng, 1000);
        attr.rpg_threshold = 1 + rng_below(&rng, 6);
        attr.rpg_gd = 10 + rng_below(&rng, 2);
        attr.rpg_min_dec_fac = rng_below(&rng, 101);
        attr.dce_tcp_g = rng_below(&rng, 1024);
        attr.clamp_tgt_rate = rng_below(&rng, 2);
        attr.rate_reduce_monitor_period = rng_below(&rng, 50);
        CU_ASSERT(rnic_dcqcn_valid(&attr));
        rnic_dcqcn_init(&dc);
        for (unsigned i = 0; i < 2000; i++) {
            uint64_t rate;

            now += rng_below(&rng, 20000);
            if (rng_below(&rng, 3) == 0)
                rnic_dcqcn_cnp(&dc, &attr, now);
            else if (rnic_dcqcn_next(&dc, &attr, now) <= now)
                rnic_dcqcn_sent(&dc, &attr, 64 + rng_below(&rng, 4096), now);
            rate = rate_at(&dc, &attr, now);
            if (rate < attr.rpg_min_rate * UINT64_C(1000000) ||
                rate > attr.rpg_max_rate * UINT64_C(1000000) || (dc.limited && dc.target < dc.rate))
                suite_fail(__FILE__, __LINE__, "run %u: rate %llu", run, (unsigned long long)rate);
        }
    }
}

static void parameters_out_of_range_are_invalid(void)
{
    struct rnic_dcqcn_attr attr;

    rnic_dcqcn_defaults(&attr);
    CU_ASSERT(rnic_dcqcn_valid(&attr));
    EXPECT_EQ(attr.rpg_time_reset, 300);
    EXPECT_EQ(attr.dce_tcp_g, 1019);
    attr.dce_tcp_g = 1024;
    CU_ASSERT(!rnic_dcqcn_valid(&attr));
    attr.dce_tcp_g = 0;
    CU_ASSERT(rnic_dcqcn_valid(&attr));
    attr.rpg_time_reset = 0;
    CU_ASSERT(!rnic_dcqcn_valid(&attr));
    rnic_dcqcn_defaults(&attr);
    attr.rpg_min_rate = attr.rpg_max_rate + 1;
    CU_ASSERT(!rnic_dcqcn_valid(&attr));
}

SUITE("dcqcn", TEST(no_limit_before_first_cnp), TEST(cnp_cuts_rate_by_alpha),
      TEST(alpha_decays_without_cnps), TEST(recovery_precedes_additive_increase),
      TEST(one_late_call_equals_many_calls), TEST(bytes_and_timer_lead_to_hyper_increase),
      TEST(returns_to_full_rate), TEST(vendor_parameters_change_cuts),
      TEST(packets_are_spaced_by_rate), TEST(rate_stays_between_minimum_and_maximum),
      TEST(parameters_out_of_range_are_invalid))
