/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drill report: the results of a suite as text, KTAP, JUnit and JSON.
 */
#ifndef REPLAY_DRILL_DRILL_REPORT_H
#define REPLAY_DRILL_DRILL_REPORT_H

#include <jansson.h>
#include <stdio.h>
#include "drill/suite_run.h"

/* Returns the exit status of one case: 2 if the drill cannot be parsed, 1 if the case fails, else
 * 0. With `strict`, a known deviation or an inconclusive case counts as a failure. */
int drill_case_status(const struct drill_case *c, bool strict);

/* Returns the exit status of all cases: 2 if a drill cannot be parsed or the run stopped early,
 * else 1 if a case fails, else 0. `strict`: as in drill_case_status(). */
int drill_suite_status(const struct drill_suite *suite, bool strict);

/* Returns the verdict as text; "unusable" for a drill that cannot be parsed. */
const char *drill_case_verdict(const struct drill_case *c);

/* Writes the command that repeats a case on the same device. */
void drill_repeat_command(FILE *out, const struct drill_case *c);

enum drill_detail {
    DRILL_QUIET,   /* print only the drills that did not pass */
    DRILL_NORMAL,  /* print a line for each drill. If cases of the drill did not pass, also print
                    * the ladder of the case with the worst verdict */
    DRILL_VERBOSE, /* print the ladders of all cases; drill_suite_options.keep_log must be set */
};

/* Prints the drills, and a table of groups. If the suite has only one drill and it passed, also
 * prints its purpose. `device`: name of the device, or "". */
void drill_text(FILE *out, const struct drill_suite *suite, const char *device,
                enum drill_detail detail);

/* Command line options of the run of a shard (one part of the drills). `rocedrill merge` prints the
 * reports with the same options. */
struct drill_report_style {
    bool quiet, strict;
};

/* Adds to the result of drill_json() the members with which `rocedrill merge` combines the reports
 * of all shards. A shard is the part of the drills that one process plays. `sections` prints the
 * HTML section about a case. */
void drill_json_shard(json_t *json, const struct shard *shard, const struct drill_suite *suite,
                      struct drill_report_style style,
                      void sections(FILE *out, const struct drill_case *c));

/* Prints KTAP version 1, the format of the selftests of the Linux kernel. Each case is a test. A
 * case fails as in drill_case_status(). */
void drill_tap(FILE *out, const struct drill_suite *suite, bool strict);

/* Prints a JUnit report. Each group is a test suite, and each case is a test case. A case fails as
 * in drill_case_status(). */
void drill_junit(FILE *out, const struct drill_suite *suite, bool strict);

/* Returns {device, totals, drills: [...]} as in drill.schema.json, or NULL if out of memory. */
json_t *drill_json(const struct drill_suite *suite, const char *device);

#endif
