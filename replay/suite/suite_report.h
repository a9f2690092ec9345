/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Gate: what the replay of a corpus says as a whole: a summary first, then what did not come out as
 * expected, and the same as JUnit and JSON.
 */
#ifndef REPLAY_SUITE_SUITE_REPORT_H
#define REPLAY_SUITE_SUITE_REPORT_H

#include <stdio.h>
#include "suite/worker_pool.h"

struct suite_totals {
    size_t captures;
    size_t connections;
    size_t streams;
    size_t exchanges; /* ends of them */
    size_t outcome[OUTCOME_CNT];
    size_t unexpected[OUTCOME_CNT]; /* of these, those that were not expected */
};

void suite_totals_of(struct suite_totals *totals, const struct job *jobs, size_t cnt);

/* The exit status: 0 all came out as expected, 1 a capture differs unexpectedly or unexpectedly
 * does not, 2 one could not be used, had nothing to replay, or crashed, unexpectedly. */
int suite_status(const struct suite_totals *totals);

/* `all`: the reports of all captures, not of the unexpected ones only. */
void suite_text(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt,
                bool all);

/* A test suite a capture, a test case a connection. */
void suite_junit(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt);

/* {summary: {captures, connections, <outcome>: count, unexpected}, captures: [report...]}; each
 * report also has outcome and expected. A new reference, or NULL without memory. */
json_t *suite_json(const struct suite_totals *totals, const struct job *jobs, size_t cnt);

#endif
