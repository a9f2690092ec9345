/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Runs the scenarios with devices that break one rule each (transport/faults.def). The scenarios
 * must detect each fault; the table `unseen` lists the exceptions with their reasons.
 * ROCEDRILL_RUNS=<n> is the number of seeds after which an undetected fault fails the test;
 * ROCEDRILL_FAULT=<name> selects one fault.
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

/* Faults that no scenario can detect, with the reason and with the other suite that detects the
 * fault. */
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

/* Returns whether one of the first seeds fails with a device that has this fault. Uses a child
 * process, because the device may crash or hang. */
static bool detected(enum rnic_fault fault, uint64_t runs)
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

static void every_transport_fault_is_detected(void)
{
    const char *only = getenv("ROCEDRILL_FAULT");
    uint64_t runs = suite_env("ROCEDRILL_RUNS", 200);

    if (!only)
        CU_ASSERT(!detected(RNIC_FAULT_NONE, runs));
    for (unsigned i = 1; i < RNIC_FAULT_SEEN_CNT; i++) {
        const char *why = excuse((enum rnic_fault)i);

        if (only ? strcmp(only, names[i]) != 0 : why != NULL)
            continue;
        if (!detected((enum rnic_fault)i, runs))
            suite_fail(__FILE__, __LINE__, "the scenarios of %llu seeds do not detect the fault %s",
                       (unsigned long long)runs, names[i]);
    }
}

SUITE("sim.mutants", TEST(every_transport_fault_is_detected))
