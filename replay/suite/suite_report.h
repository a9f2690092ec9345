/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Suite report: the result of the replay of many captures, as text, JUnit or JSON. The text begins
 * with a summary. The captures with an unexpected result follow.
 */
#ifndef REPLAY_SUITE_SUITE_REPORT_H
#define REPLAY_SUITE_SUITE_REPORT_H

#include <stdio.h>
#include "suite/worker_pool.h"

struct suite_totals {
    size_t captures;
    size_t directions; /* number of directions in all captures. A direction is the requests of
                        * one QP of a connection, and the responses to them */
    size_t streams;
    size_t exchanges;    /* number of ends of CM exchanges */
    size_t cut;          /* number of captures with truncated payloads (snaplen too small) */
    size_t missing;      /* number of responses that our RNIC sent but the captures lack */
    size_t lacking;      /* number of captures in which a response of our RNIC is missing */
    size_t damaged;      /* number of damaged responses in all captures, which are not compared */
    size_t with_damage;  /* number of captures with a damaged response */
    size_t inconclusive; /* number of inconclusive responses and requests in all captures */
    size_t in_doubt;     /* number of captures with an inconclusive response or request */
    size_t outcome[OUTCOME_CNT];
    size_t unexpected[OUTCOME_CNT]; /* for each outcome: number of captures that had this outcome
                                     * unexpectedly */
};

void suite_totals_of(struct suite_totals *totals, const struct job *jobs, size_t cnt);

/* Returns the exit status. 0: every outcome was expected. 1: a PASS or FAIL was unexpected. 2: a
 * SKIPPED, UNUSABLE or CRASHED was unexpected. */
int suite_status(const struct suite_totals *totals);

/* Prints the text report. If `all` is true, prints the reports of all captures, otherwise only of
 * those with an unexpected outcome. */
void suite_text(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt,
                bool all);

/* Prints the JUnit report. Each capture is a test suite. Its test cases are the capture itself,
 * each direction of a connection, each datagram stream, and each end of a CM exchange. */
void suite_junit(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt);

/* Options of the text report. The JSON report of a shard contains them, so that `rocedrill merge`
 * prints the same text report. */
struct suite_text {
    const char *folder; /* folder that the user named: print the report of suite_text(). NULL:
                         * print the report of each capture, one after the other */
    bool verbose;       /* print the texts of all captures */
};

/* Writes {summary: {...}, captures: [report...]}. The summary has the numbers of captures,
 * directions, streams and exchanges, of captures with each outcome, of captures with an unexpected
 * outcome, and of responses that the captures lack. Each report also has the members outcome and
 * expected. If `shard` is not NULL, the jobs are one part of a run; then also writes the data that
 * `rocedrill merge` needs. Returns false if out of memory; the text is then incomplete. */
bool suite_json(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt,
                const struct shard *shard, const struct suite_text *how);

#endif
