/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Worker pool: replays many captures, several at a time, each in a separate process. So a crash in
 * the replay of one capture does not affect the others.
 */
#ifndef REPLAY_SUITE_WORKER_POOL_H
#define REPLAY_SUITE_WORKER_POOL_H

#include <jansson.h>
#include "base/error.h"
#include "report/report.h"
#include "report/report_loop.h"
#include "suite/capture_set.h"

struct job_options {
    const char *peer; /* implementation that was recorded, for all captures; NULL: read it from the
                       * manifest */
    unsigned sides;   /* roles that our RNIC plays or, in a live replay, the target: bits of enum
                       * replay_role; 0: requester and responder */
    bool strict;
    const char *dump_path;             /* file for the inferred setup, or NULL */
    const struct narrow *narrow;       /* selected frames (capture/narrow.h); NULL: all */
    const struct loop_options *closed; /* options of a closed loop, in which our RNIC plays both
                                        * ends; NULL: compare our RNIC with the recorded devices */
    const struct live_options *live;   /* options of a live replay, which plays against a target
                                        * on a network and permits one capture at a time; NULL:
                                        * replay with our RNIC */
    bool text;                         /* create the text report */
    bool json;                         /* create the JSON report */
    bool ladders;                      /* draw the ladders of captures that fail */
    struct report_options report;
};

/* Counts of one replay, for the summary. */
struct job_counts {
    size_t directions, streams, exchanges;
    size_t failed;       /* number of directions, streams and exchanges with the verdict FAIL */
    size_t cut;          /* number of directions with a payload that the snaplen cut */
    size_t missing;      /* number of responses that our RNIC sent but the capture lacks */
    size_t damaged;      /* number of responses with a wrong ICRC or form, which are not compared */
    size_t inconclusive; /* number of responses and requests with a difference that a packet that
                          * the capture lacks may explain */
};

struct job {
    const struct capture_item *item;
    enum outcome outcome;
    enum outcome expected; /* expected outcome, from the manifest; for a closed loop never FAIL */
    char *text;            /* text report; "" if options.text was not set */
    char *ladders;         /* ladder diagrams, written by report_ladders(); NULL if the capture
                            * did not fail, or if options.ladders was not set */
    struct job_counts counts;
    char *report; /* members of the JSON object of the capture, as text. If the capture could not
                   * be replayed, only file, verdict and error. NULL if options.json was not set */
    char *error;  /* error message with the file name if the outcome is SKIPPED, UNUSABLE or
                   * CRASHED; else NULL */
};

/* Callbacks. job_done() is called for each finished job, in the order of the captures.
 * job_progress() is called after jobs have finished, in any order, with the number of finished
 * jobs. */
typedef void job_done(void *ctx, const struct job *job);
typedef void job_progress(void *ctx, size_t finished, size_t cnt);

struct job_watcher {
    job_done *done;         /* may be NULL */
    job_progress *progress; /* may be NULL */
    void *ctx;
};

/*
 * Replays all captures. `at_a_time` (at least 1) is the number of processes that run at the same
 * time. If it is 1, this process replays the captures itself. *out receives an array with a job for
 * each capture, in the order of the captures; free it with jobs_free(). Returns 0, or -1 and an
 * error if a process cannot be started or if out of memory.
 */
int worker_pool_run(const struct capture_set *captures, unsigned at_a_time,
                    const struct job_options *options, const struct job_watcher *watcher,
                    struct job **out, struct error *error);
void jobs_free(struct job *jobs, size_t cnt);

/* Indentation of the members of job.report. */
#define JOB_REPORT_INDENT 6u

/* Counts one element of a list in a report. Callback of struct json_writer; its `ctx` is a struct
 * job_counts. */
void job_count(void *counts, const char *list, const json_t *element);

/* Returns the JSON object of a capture, or NULL if out of memory. The caller releases it. */
json_t *job_json(const struct job *job);

/* Returns whether a job had the expected outcome. */
static inline bool job_as_expected(const struct job *job)
{
    return job->outcome == job->expected;
}

#endif
