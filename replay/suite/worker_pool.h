/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Jobs: many captures replayed, several at a time, each in a process of its own: what one of them
 * does, a crash included, the others do not feel.
 */
#ifndef REPLAY_SUITE_WORKER_POOL_H
#define REPLAY_SUITE_WORKER_POOL_H

#include <jansson.h>
#include "base/error.h"
#include "suite/capture_set.h"
#include "report/report.h"
#include "report/report_loop.h"

struct job_options {
    const char *peer; /* for all of them, or NULL: as the manifest says */
    unsigned sides;   /* of enum replay_side; 0 is both */
    bool strict;
    const char *dump_path;             /* where the derived setup is written, or NULL */
    struct setup_override *given;      /* for one capture; or NULL */
    const struct loop_options *closed; /* NULL: replay */
    const struct live_options *live;   /* NULL: our own RNIC; then one at a time */
    bool text;                         /* report_text() is wanted */
    struct report_options report;
};

struct job {
    const struct capture_item *item;
    enum outcome outcome;
    enum outcome expected; /* as the manifest says; of a closed loop, to hold or to be skipped */
    char *text;            /* the report; "" if none was wanted */
    json_t *json;          /* report_json(), or {file, verdict: ERROR, error} */
    char *error; /* why it is SKIPPED, UNUSABLE or CRASHED, with the file in it; or NULL */
};

/* Told of each job that is done, in the order of the jobs; `finished` counts them in any order. */
typedef void job_done(void *ctx, const struct job *job);
typedef void job_progress(void *ctx, size_t finished, size_t cnt);

struct job_watcher {
    job_done *done;         /* or NULL */
    job_progress *progress; /* or NULL */
    void *ctx;
};

/*
 * Replays all captures, `at_a_time` >= 1 at once; with one at a time in this process. *out are
 * as many jobs as there are captures, in their order, for jobs_free(). 0, or -1 and an error if no
 * process or memory is to be had.
 */
int worker_pool_run(const struct capture_set *captures, unsigned at_a_time,
                    const struct job_options *options, const struct job_watcher *watcher,
                    struct job **out, struct error *error);
void jobs_free(struct job *jobs, size_t cnt);

/* Whether it came out as expected. */
static inline bool job_as_expected(const struct job *job)
{
    return job->outcome == job->expected;
}

#endif
