/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Check run: checks the captures of `rocedrill check` and writes the outputs. Called by
 * cmd_check.c, which reads the options. */
#ifndef REPLAY_CHECK_RUN_H
#define REPLAY_CHECK_RUN_H

#include <stdbool.h>
#include <stdio.h>
#include "capture/narrow.h"
#include "check/check_report.h"
#include "export/export.h"
#include "monitor/session.h"
#include "page/page.h"
#include "suite/capture_set.h"
#include "util/colour.h"
#include "util/shard.h"

struct check_args {
    bool verbose, quiet, no_icrc, immediate, no_sandbox;
    FILE *text; /* stream of the report; NULL: no report */
    enum colour_mode colour;
    bool any_order;
    enum roce_profile profile;
    enum fail_on fail_on;
    unsigned jobs; /* --jobs: number of captures that are checked at the same time. If there is
                    * only one capture: number of threads that check it. 0: number of processors */
    const char *stdin_name; /* name of standard input in reports; NULL: "standard input" */
    const char *json_path, *junit_path, *annotate_path, *html_path, *timeline_path;
    FILE *json, *junit, *html;
    struct page page;
    struct work_times timeline;
    struct export_paths paths;
    struct export *export; /* outputs in the formats of other tools; NULL if `paths` names none */
    struct capture_set captures;
    struct shard shard;
    struct narrow narrow;
    struct session_options monitor;
    const char *other_end; /* Path of the capture taken at the other end of the link (--other-end),
                            * or NULL. */
    const char *baseline_path;     /* path of the capture of --baseline, or NULL */
    double slower_percent;         /* argument of --fail-on slower, percent; 0: not given */
    struct baseline *baseline;     /* result of --baseline; NULL if baseline_path is NULL */
    struct two_points *two_points; /* result of --other-end; NULL if other_end is NULL */
    bool compared;                 /* the comparison with the capture of --other-end succeeded */
    int other_status;              /* exit status for the capture of --other-end */
    struct session *session; /* Running monitor (monitor/session.h); NULL without an option that
                              * requires a monitor. */
};

/* Checks the captures, or the interface, and writes the outputs. Returns the exit status. */
int check_run(struct check_args *args);

#endif
