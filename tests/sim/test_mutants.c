/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The scenarios against devices that break one rule each (transport/faults.def): every one of them
 * is noticed, or stands here with the reason. ROCEDRILL_RUNS=<n> is how many seeds a
 * device may survive; ROCEDRILL_FAULT=<name> tries that one alone.
 */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "scenario.h"
#include "support/suite.h"
#include "transport/fault.h"

enum rnic_fault rnic_fault;

static const char *const names[] = {
    "NONE",
#define FAULT(NAME, rules, text, why) #NAME,
#include "transport/faults.def"
#undef FAULT
};

/* What no scenario does, and which suite does instead. */
static const struct {
    enum rnic_fault fault;
    const char *why;
} unseen[] = {
    {RNIC_FAULT_ACCESS_RIGHTS, "all regions have all rights; device.mr"},
    {RNIC_FAULT_QP_RIGHTS, "all QPs allow all; transport.responder"},
    {RNIC_FAULT_INVALIDATE, "no key is used after a peer invalidated it; sim.windows"},
};

static const char *excuse(enum rnic_fault fault)
{
    for (unsigned i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
        if (unseen[i].fault == fault)
            return unseen[i].why;
    return NULL;
}

/* Whether a device with this fault fails one of the first seeds; a child, for it may also crash or
 * hang. */
static bool noticed(enum rnic_fault fault, uint64_t runs)
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        unsigned before = CU_get_number_of_failures();

        rnic_fault = fault;
        alarm(60);
        for (uint64_t seed = 1; seed <= runs; seed++) {
            scenario_run(seed);
            if (CU_get_number_of_failures() != before)
                _exit(1);
        }
        _exit(0);
    }
    CU_ASSERT_FATAL(pid > 0 && waitpid(pid, &status, 0) == pid);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void every_fault_is_noticed(void)
{
    const char *only = getenv("ROCEDRILL_FAULT");
    uint64_t runs = suite_env("ROCEDRILL_RUNS", 200);

    if (!only)
        CU_ASSERT(!noticed(RNIC_FAULT_NONE, runs));
    for (unsigned i = 1; i < RNIC_FAULT_CNT; i++) {
        const char *why = excuse((enum rnic_fault)i);

        if (only ? strcmp(only, names[i]) != 0 : why != NULL)
            continue;
        if (!noticed((enum rnic_fault)i, runs))
            suite_fail(__FILE__, __LINE__, "%llu seeds do not notice %s", (unsigned long long)runs,
                       names[i]);
    }
}

SUITE("sim.mutants", TEST(every_fault_is_noticed))
