/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Check of one capture. cmd_check calls check_capture() for each capture, then prints the report.
 *
 *   1. parallel_reader parses the frames and computes ICRCs
 *   2. the observer of rnic/flow judges each packet and reports findings and connections
 *   3. finding_groups and check_report collect them; check_json and annotate write them at once
 *   4. check_text and check_junit print the report
 *
 * Memory does not grow with the length of the capture. Errors name the file and, if known, the
 * frame.
 */
#ifndef REPLAY_CHECK_CHECK_H
#define REPLAY_CHECK_CHECK_H

#include "base/error.h"
#include "check/check_report.h"

struct check_options {
    bool keep_findings; /* report.groups.kept has every finding */
    bool keep_history;  /* report.story has the last events of each connection */
    uint32_t conn_max;  /* connections kept for the report; 0 none */
    bool no_icrc;       /* ICRCs are not computed */
    bool progress;      /* on standard error, if that is a terminal */
    bool immediate;     /* errors on standard error when they are found */
    enum roce_profile profile;
    FILE *json;              /* lines for findings and connections; NULL none */
    const char *annotate_to; /* "-" is standard output; NULL none */
};

/*
 * Reads the capture at `path` ("-": standard input) and fills `report`, which the caller frees in
 * every case. 0, or -1 and an error; report->name is NULL if nothing at all could be read, else the
 * report holds what came before the error, which is its `error` then and must live as long.
 */
int check_capture(const char *path, const struct check_options *options,
                  struct check_report *report, struct error *error);

#endif
