/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JUnit output of a check: one test suite for each capture, one test case for each connection. If
 * --fail-on makes a finding or a failed or slow connection fail the check, the test case has a
 * failure. The other findings are in system-out. If a capture could not be read to its end, the
 * test suite has an error.
 */
#ifndef REPLAY_CHECK_CHECK_JUNIT_H
#define REPLAY_CHECK_CHECK_JUNIT_H

#include "check/check_report.h"

void check_junit_begin(FILE *out);
void check_junit_add(FILE *out, const struct check_report *report, enum fail_on fail_on);

/* Prints a test suite with an error, for a capture from which no frame could be read. */
void check_junit_fault(FILE *out, const char *name, const char *error);

void check_junit_end(FILE *out);

/* Returns whether `text` is a test suite as check_junit_add() prints it, and nothing else.
 * `rocedrill merge` checks the reports of other machines with this function. */
bool check_junit_is_suite(const char *text);

#endif
