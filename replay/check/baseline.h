/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Baseline: compares the performance in a capture with the performance in an earlier capture of the
 * same traffic. Called by check --baseline.
 *
 *   1. baseline_new()
 *   2. check_capture() of the new and of the old capture, each with the watch of baseline_watch()
 *   3. baseline_compare(), then baseline_print(), baseline_json() and baseline_junit()
 *   4. baseline_del()
 *
 * The comparison has two parts: the totals of the two captures, and each connection of the new
 * capture with the same connection of the old capture (conn_pairs.h).
 */
#ifndef REPLAY_CHECK_BASELINE_H
#define REPLAY_CHECK_BASELINE_H

#include <stdio.h>
#include "check/check.h"

struct baseline;

enum { BASELINE_OLD, BASELINE_NEW, BASELINE_CNT };

/* Returns an empty comparison, or NULL if out of memory. A connection counts as slower if its rate
 * is lower by at least `percent`, or its latency higher by at least `percent`. */
struct baseline *baseline_new(double percent);
void baseline_del(struct baseline *baseline); /* Frees the comparison. `baseline` may be NULL. */

/* Returns the callbacks (struct check_watch) that record the connections of a capture. `capture` is
 * BASELINE_OLD or BASELINE_NEW. */
struct check_watch baseline_watch(struct baseline *baseline, unsigned capture);

/* Compares the captures. `name` are their names. Returns 0, or -1 and an error if out of memory or
 * if a capture has no completed message. Called once, before the following functions. */
int baseline_compare(struct baseline *baseline, const char *const name[BASELINE_CNT],
                     struct error *error);

/* Returns whether the new capture as a whole is slower. */
bool baseline_is_slower(const struct baseline *baseline);

/* Prints the comparison of the whole captures, and of the connections that became slower or faster.
 * With `verbose`, prints all connections. */
void baseline_print(FILE *out, const struct baseline *baseline, bool verbose);

/* Writes the comparison as one JSON line of type `baseline`. Returns 0, or -1 if it could not be
 * written. */
int baseline_json(FILE *out, const struct baseline *baseline);

/* Prints a test suite with one test case. The test case fails if the new capture is slower and
 * `fail` is true. */
void baseline_junit(FILE *out, const struct baseline *baseline, bool fail);

#endif
