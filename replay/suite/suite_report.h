/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Suite report: the result of the replay of many captures, as text, JUnit or JSON. The text is a
 * summary, then the captures with an unexpected result.
 */
#ifndef REPLAY_SUITE_SUITE_REPORT_H
#define REPLAY_SUITE_SUITE_REPORT_H

#include <stdio.h>
#include "suite/worker_pool.h"

struct suite_totals {
    size_t captures;
    size_t directions; /* number of directions: the requests of one QP of a connection, and the
                        * responses to them */
    size_t streams;
    size_t exchanges; /* number of ends of CM exchanges */
    size_t cut;       /* number of captures with packets whose payload the snaplen cut */
    size_t missing;   /* number of responses of our RNIC that a capture lacks */
    size_t lacking;   /* number of captures that lack a response of our RNIC */
    size_t outcome[OUTCOME_CNT];
    size_t unexpected[OUTCOME_CNT]; /* number of captures with each outcome that was not expected */
};

void suite_totals_of(struct suite_totals *totals, const struct job *jobs, size_t cnt);

/* Returns the exit status. 0: every outcome was expected. 1: a PASS or FAIL was not expected. 2: a
 * capture unexpectedly could not be used, had nothing to replay, or crashed. */
int suite_status(const struct suite_totals *totals);

/* Prints the text report. `all`: includes the reports of all captures, not only of those with an
 * unexpected outcome. */
void suite_text(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt,
                bool all);

/* Prints the JUnit report: one test suite for each capture, one test case for each connection. */
void suite_junit(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt);

/* Options of the text report of a suite. `rocedrill merge` prints the same report from the outputs
 * of several runs. */
struct suite_text {
    const char *folder; /* folder that the user named: print suite_text(). NULL: print the text of
                         * each capture, one after the other */
    bool verbose;       /* print the texts of all captures */
};

/* Writes {summary: {captures, connections, <outcome>: count, unexpected}, captures: [report...]}.
 * Each report also has the members outcome and expected. If `shard` is not NULL (the jobs are a
 * part of the captures), also writes the data that `rocedrill merge` needs. Returns false if out of
 * memory; the text is then incomplete. */
bool suite_json(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt,
                const struct shard *shard, const struct suite_text *how);

#endif
