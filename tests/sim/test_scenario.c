/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Scenarios of all services, operations, path MTUs and faults, between 2 and 64 devices
 * (scenario.h): R057-R062, R065, R067, R078, R087, R092-R094, R102-R104, R109, R112, R122, R123,
 * R138, R151-R153, R163-R166, R172-R174, R189, R198, R202, R203, R214, R215, R247-R249 of
 * rnic/rules.md.
 *
 * ROCEDRILL_SEED=<n> runs only that seed, ROCEDRILL_RUNS=<n> the first n seeds.
 * ROCEDRILL_SECONDS=<n> runs new seeds for n seconds, from ROCEDRILL_FIRST=<n> on (tests/soak). A
 * failure prints the command that repeats it. With ROCEDRILL_RECORD=<file>, that command writes a
 * pcap.
 */
#include <stdlib.h>
#include <time.h>
#include "scenario.h"
#include "support/suite.h"

/* RUNS: number of seeds that tests/run uses. RUNS_MOST: number of seeds that may be needed to cover
 * the last cases of scenario_seen.c. STRUCK: number of packets of each class that get a fault. With
 * sanitizers, the test runs only the first seeds, which is enough to find memory errors. */
#ifdef TEST_SANITIZED
#define RUNS      75u
#define RUNS_MOST 75u
#define STRUCK    1u
#else
#define RUNS      300u
#define RUNS_MOST 1500u
#define STRUCK    3u
#endif

static bool one(uint64_t seed)
{
    unsigned before = CU_get_number_of_failures();

    scenario_run(seed);
    if (CU_get_number_of_failures() == before)
        return true;
    printf("\n    repeat with: ROCEDRILL_SEED=%llu test_sim_scenario random_scenarios\n",
           (unsigned long long)seed);
    return false;
}

/* Asserts that the random scenarios covered all combinations: each operation of each service at
 * each path MTU and encapsulation, and each fault of each packet and response. */
static void check_coverage(void)
{
    EXPECT_EQ(scenario_seen_check(false), 0);
    for (unsigned i = 0; i < SIMNET_FATE_CNT; i++)
        CU_ASSERT(scenario_seen.fates[i] > 0);
    for (unsigned i = 0; i < SIMNET_OTHER; i++)
        CU_ASSERT(scenario_seen.classes[i] > 0);
    CU_ASSERT(scenario_seen.devs_max > 32);
    /* The packets determined every requester counter, so each was compared exactly. */
    for (unsigned i = 0; i < ORACLE_COUNT_CNT; i++)
        EXPECT_EQ(scenario_seen.hidden[i], 0);
}

static void random_scenarios_match_the_model(void)
{
    uint64_t only = suite_env("ROCEDRILL_SEED", 0);
    uint64_t runs = suite_env("ROCEDRILL_RUNS", RUNS);
    uint64_t seconds = suite_env("ROCEDRILL_SECONDS", 0);
    uint64_t first = suite_env("ROCEDRILL_FIRST", 1);
    time_t end = time(NULL) + (time_t)seconds;
    uint64_t seed = only ? only : first;

    if (only) {
        one(only);
        return;
    }
    while (seconds ? time(NULL) < end : seed < first + runs)
        if (!one(seed++))
            return;
    while (!seconds && runs == RUNS && seed < first + RUNS_MOST && scenario_seen_check(true))
        if (!one(seed++))
            return;
    printf("\n    %llu scenarios, seeds %llu to %llu\n", (unsigned long long)(seed - first),
           (unsigned long long)first, (unsigned long long)seed - 1);
    if (RUNS_MOST > RUNS && seed - first >= RUNS)
        check_coverage();
}

/* The n-th packet of each class, from any device, suffers one fault: lost, duplicated, delayed,
 * corrupted, marked, dropped by a full queue, or lost in an outage. The results of the scenario,
 * with all its services and operations, must still match the model. */
static void scenarios_match_after_a_fault_of_any_packet_class(void)
{
    static const struct {
        enum simnet_action action;
        uint64_t delay_ns;
    } strikes[] = {{SIMNET_DROP, 0},           {SIMNET_REPEAT, 40000},
                   {SIMNET_HOLD, 30000},       {SIMNET_CORRUPT_PAYLOAD, 0},
                   {SIMNET_CORRUPT_HEADER, 0}, {SIMNET_CORRUPT_ICRC, 0},
                   {SIMNET_MARK, 0},           {SIMNET_FULL, 0},
                   {SIMNET_CUT, 100000}};

    for (unsigned i = 0; i < sizeof(strikes) / sizeof(strikes[0]); i++) {
        for (unsigned cls = 0; cls < SIMNET_OTHER; cls++) {
            unsigned hits = 0;

            /* Some scenarios have fewer than `nth` packets of the class. */
            for (uint64_t seed = 1; seed <= 60 && hits < STRUCK; seed++) {
                unsigned nth = cls == SIMNET_NAK_FATAL ? 1 : 1 + hits % 3;
                unsigned before = CU_get_number_of_failures();

                hits += scenario_strike(seed, cls, nth, strikes[i].action, strikes[i].delay_ns);
                if (CU_get_number_of_failures() != before) {
                    printf("\n    fault %u of the table, applied to %s packet number %u of seed "
                           "%llu\n",
                           i, simnet_class_name((enum simnet_class)cls), nth,
                           (unsigned long long)seed);
                    return;
                }
            }
            CU_ASSERT(hits >= STRUCK);
        }
    }
}

SUITE("sim.scenario", TEST(random_scenarios_match_the_model),
      TEST(scenarios_match_after_a_fault_of_any_packet_class))
