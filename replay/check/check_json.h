/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JSON output of a check: one object for each line, written while the capture is read. check.md
 * describes the members. The members listed there are a stable interface: later versions only
 * add to them.
 */
#ifndef REPLAY_CHECK_CHECK_JSON_H
#define REPLAY_CHECK_CHECK_JSON_H

#include "check/check_report.h"

/* Each function writes one line. Returns 0, or -1 if the line could not be written. */
int check_json_finding(FILE *out, const char *file, const struct roce_finding *finding);
int check_json_conn(FILE *out, const char *file, const struct check_conn *conn);

/* Writes a congestion episode that has ended. */
int check_json_congestion(FILE *out, const char *file, const struct roce_cnp_episode *episode);

/* Writes an alias: connection number `stream` in earlier findings is now part of connection
 * `is`. */
int check_json_alias(FILE *out, const char *file, uint32_t stream, uint32_t is);

int check_json_summary(FILE *out, const struct check_report *report, int status);

#endif
