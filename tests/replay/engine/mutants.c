/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Mutants: replays a folder of captures against devices that each break one rule of
 * transport/faults.def. Prints the captures that detect each fault. Some faults change no response
 * to recorded packets. For these faults, closed loops with losses and duplicates are played.
 *
 * Exit status 0: the device without a fault has the expected results, and each fault is detected,
 * except those with a documented excuse. Exit status 1 otherwise.
 *
 * Usage: `rocedrill_mutants FOLDER [FAULT...]`. With FAULT, only these faults are tried, and all
 * captures that detect one are named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "replay/mutant_child.h"
#include "suite/worker_pool.h"
#include "transport/fault.h"

/* Time limit in seconds, because a fault may make a replay run forever. A fault that reaches the
 * limit counts as detected. */
#define SECONDS_MAX 100

#define NAMED_MAX 3u

enum rnic_fault rnic_fault;

static const struct {
    const char *name, *rules, *text, *why;
} faults[RNIC_FAULT_SEEN_CNT] = {
    [RNIC_FAULT_NONE] = {"none", "", "the device as it is", ""},
#define FAULT(NAME, rules, text, why) [RNIC_FAULT_##NAME] = {#NAME, rules, text, why},
#include "transport/faults.def"
#undef FAULT
};

/* Replays all captures in a child process. Prints those with an unexpected result and returns
 * their number. */
static unsigned play(const struct capture_set *corpus, const struct loop_options *closed, bool all)
{
    const struct job_options options = {.closed = closed};
    const struct job_watcher watcher = {.ctx = NULL};
    struct job *jobs;
    struct error error;
    unsigned cnt = 0;

    if (worker_pool_run(corpus, 1, &options, &watcher, &jobs, &error) != 0) {
        fprintf(stderr, "%s\n", error.text);
        _exit(125);
    }
    for (size_t i = 0; i < corpus->cnt; i++) {
        const char *slash = strrchr(corpus->item[i].path, '/');

        if (job_as_expected(&jobs[i]))
            continue;
        if (cnt++ < NAMED_MAX || all)
            printf(" %s", slash ? slash + 1 : corpus->item[i].path);
    }
    jobs_free(jobs, corpus->cnt);
    if (cnt > NAMED_MAX && !all)
        printf(" and %u more", cnt - NAMED_MAX);
    return cnt;
}

struct play_args {
    const struct capture_set *corpus;
    const struct loop_options *closed;
    bool all;
};

static unsigned play_in_child(const void *ctx)
{
    const struct play_args *args = ctx;

    return play(args->corpus, args->closed, args->all);
}

/* Returns whether the chosen fault causes an unexpected result or ends the child process by a
 * signal. */
static bool detected(const struct capture_set *corpus, const struct loop_options *closed, bool all)
{
    const struct play_args args = {corpus, closed, all};

    return mutant_is_detected(play_in_child, &args, SECONDS_MAX, true);
}

int main(int argc, char **argv)
{
    struct loop_options closed = {.seed = 1, .repeat = 5};
    struct capture_set corpus = {0};
    unsigned cnt = 0, by_replay = 0, by_loop = 0, excused = 0;
    struct error error;
    bool healthy;

    if (argc < 2) {
        fprintf(stderr, "usage: rocedrill_mutants FOLDER [FAULT...]\n");
        return 2;
    }
    if (capture_set_add(&corpus, argv[1], &error) != 0 ||
        impair_rules_add(&closed.impair, "drop@p=0.05", IMPAIR_OFFLINE, &error) != 0 ||
        impair_rules_add(&closed.impair, "dup@p=0.05", IMPAIR_OFFLINE, &error) != 0 ||
        impair_rules_add(&closed.impair, "set=deth.qkey=5@p=0.2", IMPAIR_OFFLINE, &error) != 0) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    printf("without fault:");
    healthy = !detected(&corpus, NULL, true) && !detected(&corpus, &closed, true);
    printf(" %s\n", healthy ? "as expected" : "- NOT AS EXPECTED");
    for (unsigned i = RNIC_FAULT_NONE + 1; i < RNIC_FAULT_SEEN_CNT; i++) {
        if (!mutant_is_wanted(faults[i].name, argc, argv))
            continue;
        cnt++;
        rnic_fault = (enum rnic_fault)i;
        printf("%-16s %-12s %s:", faults[i].name, faults[i].rules, faults[i].text);
        if (detected(&corpus, NULL, argc > 2)) {
            by_replay++;
        } else {
            bool loop;

            printf(" not by a recording; closed loop:");
            loop = detected(&corpus, &closed, argc > 2);
            by_loop += loop;
            excused += !loop && *faults[i].why;
            if (!loop)
                printf(" NOT DETECTED: %s", *faults[i].why ? faults[i].why : "no known reason");
        }
        putchar('\n');
    }
    printf("%u faults: replays of captures detect %u, closed loops detect %u, %u are not "
           "detected (%u of them for a known reason)\n",
           cnt, by_replay, by_loop, cnt - by_replay - by_loop, excused);
    capture_set_free(&corpus);
    return healthy && by_replay + by_loop + excused == cnt ? 0 : 1;
}
