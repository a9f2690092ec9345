/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JUnit of a check: a test suite a capture, a test case a connection. Violations are failures,
 * findings that do not fail stand in system-out, a capture that broke off is an error.
 */
#ifndef REPLAY_CHECK_CHECK_JUNIT_H
#define REPLAY_CHECK_CHECK_JUNIT_H

#include "check/check_report.h"

void check_junit_begin(FILE *out);
void check_junit_add(FILE *out, const struct check_report *report);

/* A capture of which nothing could be read. */
void check_junit_fault(FILE *out, const char *name, const char *error);

void check_junit_end(FILE *out);

#endif
