/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JSON of a check: one object a line, written while the capture is read. What each member is stands
 * in check.md; what is written here and stands there is an interface and only grows.
 */
#ifndef REPLAY_CHECK_CHECK_JSON_H
#define REPLAY_CHECK_CHECK_JSON_H

#include "check/check_report.h"

/* All return 0, or -1 if the line could not be written. */
int check_json_finding(FILE *out, const char *file, const struct roce_finding *finding);
int check_json_conn(FILE *out, const char *file, const struct check_conn *conn);

/* A span with CNPs is over. */
int check_json_congestion(FILE *out, const char *file, const struct roce_cnp_episode *episode);

/* `stream`, which findings named, turned out to be a part of connection `is`. */
int check_json_alias(FILE *out, const char *file, uint32_t stream, uint32_t is);

int check_json_summary(FILE *out, const struct check_report *report, int status);

#endif
