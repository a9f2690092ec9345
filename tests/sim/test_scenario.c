/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Scenarios of all services, operations, path MTUs and faults, between 2 and 64 devices
 * (scenario.h): R057-R062, R065, R067, R078, R087, R092-R094, R102-R104, R109, R112, R122, R123,
 * R138, R151-R153, R163-R166, R172-R174, R189, R198, R202, R203, R214, R215, R247-R249 of
 * rnic/rules.md.
 *
 * ROCEDRILL_SEED=<n> runs that seed alone, ROCEDRILL_RUNS=<n> the first so many, and
 * ROCEDRILL_SECONDS=<n> ever new ones for so long, from ROCEDRILL_FIRST=<n> on (tests/soak). What
 * fails prints the command that repeats it; ROCEDRILL_RECORD=<file> with it writes a pcap.
 */
#include <stdlib.h>
#include <time.h>
#include "sim/scenario.h"
#include "support/suite.h"

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

/* Nothing was left out by chance. */
static void check_coverage(void)
{
    static const enum rnic_wr_opcode reliable[] = {
        RNIC_WR_WRITE,     RNIC_WR_WRITE_IMM, RNIC_WR_SEND,    RNIC_WR_SEND_IMM,
        RNIC_WR_READ,      RNIC_WR_CMP_SWAP,  RNIC_WR_BIND_MW, RNIC_WR_FETCH_ADD,
        RNIC_WR_LOCAL_INV, RNIC_WR_SEND_INV,  RNIC_WR_FLUSH,   RNIC_WR_ATOMIC_WRITE};
    static const enum rnic_wc_status statuses[] = {
        RNIC_WC_SUCCESS,     RNIC_WC_LOC_PROT_ERR,    RNIC_WC_WR_FLUSH_ERR,
        RNIC_WC_MW_BIND_ERR, RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_REM_ACCESS_ERR,
        RNIC_WC_REM_OP_ERR,  RNIC_WC_RETRY_EXC_ERR,   RNIC_WC_RNR_RETRY_EXC_ERR};

    for (unsigned i = 0; i < sizeof(reliable) / sizeof(reliable[0]); i++) {
        CU_ASSERT(scenario_seen.done[0][reliable[i]] > 20);
        CU_ASSERT(scenario_seen.done[3][reliable[i]] > 20);
        if (i < 4)
            CU_ASSERT(scenario_seen.done[1][reliable[i]] > 20);
        if (i == 2 || i == 3)
            CU_ASSERT(scenario_seen.done[2][reliable[i]] > 20);
    }
    for (unsigned i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (!scenario_seen.status[statuses[i]])
            suite_fail(__FILE__, __LINE__, "no request ended with %s",
                       rnic_wc_status_name(statuses[i]));
    for (unsigned i = 1; i < SCN_ACCIDENT_CNT; i++)
        CU_ASSERT(scenario_seen.accidents[i] > 0);
    for (unsigned i = 0; i < SIMNET_FATE_CNT; i++)
        CU_ASSERT(scenario_seen.fates[i] > 0);
    for (unsigned i = 0; i < SIMNET_OTHER; i++)
        CU_ASSERT(scenario_seen.classes[i] > 0);
    CU_ASSERT(scenario_seen.through_window > 100);
    CU_ASSERT(scenario_seen.devs_max > 32);
}

static void random_scenarios(void)
{
    uint64_t only = suite_env("ROCEDRILL_SEED", 0);
    uint64_t runs = suite_env("ROCEDRILL_RUNS", 200);
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
    if (seconds)
        printf("\n    seeds %llu to %llu hold ", (unsigned long long)first,
               (unsigned long long)seed - 1);
    if (seed - first >= 200)
        check_coverage();
}

/* The n-th packet of each class, from whoever sends it: lost, repeated, held back, corrupted, with
 * all the services and operations of a scenario around it. */
static void every_class_struck(void)
{
    static const struct {
        enum simnet_action action;
        uint64_t delay_ns;
    } strikes[] = {{SIMNET_DROP, 0},           {SIMNET_REPEAT, 40000},
                   {SIMNET_HOLD, 30000},       {SIMNET_CORRUPT_PAYLOAD, 0},
                   {SIMNET_CORRUPT_HEADER, 0}, {SIMNET_CORRUPT_ICRC, 0}};
    static const uint64_t seeds[] = {3, 11};

    for (unsigned i = 0; i < sizeof(strikes) / sizeof(strikes[0]); i++) {
        for (unsigned cls = 0; cls < SIMNET_OTHER; cls++) {
            for (unsigned nth = 1; nth <= 3; nth++) {
                unsigned before = CU_get_number_of_failures();
                bool hit = scenario_strike(seeds[nth & 1], cls, nth, strikes[i].action,
                                           strikes[i].delay_ns);

                if (CU_get_number_of_failures() != before) {
                    printf("\n    strike %u on %s number %u of seed %llu\n", i,
                           simnet_class_name((enum simnet_class)cls), nth,
                           (unsigned long long)seeds[nth & 1]);
                    return;
                }
                if (!hit)
                    break;
            }
        }
    }
}

SUITE("sim.scenario", TEST(random_scenarios), TEST(every_class_struck))
