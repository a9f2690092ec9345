/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Mutation score of the drills: plays all drills against a device with one fault of faults.def or
 * drill_faults.def (rnic/transport) at a time. A fault is detected if a drill does not pass. The
 * verdict "known" also counts as not passed, because our device has no known deviation.
 *
 * Exit status 0: all drills pass without a fault, and each fault is detected. Exit status 1
 * otherwise.
 *
 * Usage: `rocedrill_drill_mutants FOLDER [FAULT...]`. With FAULT, only these faults are tried, and
 * every drill that detects one is named. `--list` prints one line "FAULT DRILL" for each fault that
 * a drill detects, in place of the summary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "drill/device/device_rnic.h"
#include "drill/suite_run.h"
#include "replay/mutant_child.h"
#include "transport/fault.h"

/* Time limit of one fault in seconds. A fault that reaches the limit counts as detected. */
#define SECONDS_MAX 60
#define NAMED_MAX   3u

enum rnic_fault rnic_fault;

static const struct {
    const char *name, *rules, *text;
} faults[RNIC_FAULT_CNT] = {
    [RNIC_FAULT_NONE] = {"none", "", "the device as it is"},
#define FAULT(NAME, rules, text, why) [RNIC_FAULT_##NAME] = {#NAME, rules, text},
#include "transport/drill_faults.def"
#include "transport/faults.def"
#undef FAULT
};

static const char usage[] =
    "usage: rocedrill_drill_mutants FOLDER [--list | FAULT...]\n"
    "Plays the drills of FOLDER against the software RNIC with one fault at a time, and prints\n"
    "which drills detect the fault. FAULT is a name of faults.def or drill_faults.def in\n"
    "rnic/transport; without FAULT all faults are tried.\n"
    "  --list  print one line \"FAULT DRILL\" for each fault that a drill detects\n"
    "exit status: 0 = each fault is detected, 1 = a fault is not detected, or a drill fails\n"
    "  without a fault, 2 = wrong use\n";

enum how_named { NAME_SOME, NAME_ALL, NAME_LIST };

static void print_name(const struct drill_case *c, enum how_named how)
{
    if (how == NAME_LIST)
        printf("%s %.*s\n", faults[rnic_fault].name, (int)c->name_len, c->name);
    else
        printf(" %.*s", (int)c->name_len, c->name);
}

/* Plays all drills. Prints those that do not pass, and returns their number. Runs in a child
 * process, because a fault may crash. */
static unsigned play_drills(const char *folder, enum how_named how)
{
    const struct drill_suite_options options = {.ops = &device_rnic_ops, .threads = 1};
    struct drill_suite suite = {0};
    struct error error = {""};
    const char *last = NULL;
    unsigned cnt = 0;

    if (drill_suite_add(&suite, folder, &error) != 0 ||
        drill_suite_choose(&suite, &options, &error) != 0 ||
        drill_suite_run(&suite, &options, &error) != 0) {
        fprintf(stderr, "%s\n", error.text);
        _exit(125);
    }
    for (size_t i = 0; i < suite.cnt; i++) {
        if ((!suite.at[i].unusable && suite.at[i].result.verdict == DRILL_PASS) ||
            suite.at[i].path == last)
            continue;
        last = suite.at[i].path;
        if (cnt++ < NAMED_MAX || how != NAME_SOME)
            print_name(&suite.at[i], how);
    }
    if (cnt > NAMED_MAX && how == NAME_SOME)
        printf(" and %u more", cnt - NAMED_MAX);
    drill_suite_free(&suite);
    return cnt;
}

struct play_args {
    const char *folder;
    enum how_named how;
};

static unsigned play_in_child(const void *ctx)
{
    const struct play_args *args = ctx;

    return play_drills(args->folder, args->how);
}

/* Returns whether a drill does not pass with the chosen fault. */
static bool is_detected(const char *folder, enum how_named how)
{
    const struct play_args args = {folder, how};

    return mutant_is_detected(play_in_child, &args, SECONDS_MAX, how != NAME_LIST);
}

int main(int argc, char **argv)
{
    unsigned cnt = 0, detected = 0;
    bool healthy, list = argc == 3 && strcmp(argv[2], "--list") == 0;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc < 2 || argv[1][0] == '-') {
        fputs(usage, stderr);
        return 2;
    }
    if (list)
        argc = 2;
    if (!list)
        printf("without fault:");
    healthy = !is_detected(argv[1], list ? NAME_LIST : NAME_ALL);
    if (!list)
        printf(" %s\n", healthy ? "all drills pass" : "- DO NOT PASS");
    if (!healthy)
        return 1; /* if the device without a fault fails, every fault would count as detected */
    for (unsigned i = RNIC_FAULT_NONE + 1; i < RNIC_FAULT_CNT; i++) {
        bool found;

        if (!mutant_is_wanted(faults[i].name, argc, argv))
            continue;
        cnt++;
        rnic_fault = (enum rnic_fault)i;
        if (!list)
            printf("%-16s %-12s %s:", faults[i].name, faults[i].rules, faults[i].text);
        found = is_detected(argv[1], list ? NAME_LIST : argc > 2 ? NAME_ALL : NAME_SOME);
        detected += found;
        if (!list)
            printf("%s\n", found ? "" : " NOT DETECTED");
    }
    if (!list)
        printf("%u faults: drills detect %u of them\n", cnt, detected);
    return healthy && detected == cnt ? 0 : 1;
}
