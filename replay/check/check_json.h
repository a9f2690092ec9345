/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JSON output of a check: one object for each line, written while the capture is read. check.md
 * describes the members. The members listed there are a stable interface: later versions only
 * add to them.
 */
#ifndef REPLAY_CHECK_CHECK_JSON_H
#define REPLAY_CHECK_CHECK_JSON_H

#include "check/check_report.h"
#include "util/shard.h"

/* Writes a finding. Each function of this header, except check_json_later(), writes one line. All
 * return 0, or -1 after a write error. `brief`: without members that are 0, false, null or empty.
 * `bytes`, unless it is NULL, grows by the length of the line. */
int check_json_finding(FILE *out, const char *file, const struct roce_finding *finding, bool brief,
                       uint64_t *bytes);
/* Writes a connection. `points`: the comparison with a second capture, or NULL. */
int check_json_conn(FILE *out, const char *file, const struct check_conn *conn,
                    const struct two_points *points, bool brief, uint64_t *bytes);

/* Writes a congestion episode that has ended. */
int check_json_congestion(FILE *out, const char *file, const struct roce_cnp_episode *episode,
                          uint64_t *bytes);

/* Writes an alias: findings with connection number `stream` belong to connection `is`, because the
 * two directions were paired after these findings. */
int check_json_alias(FILE *out, const char *file, uint32_t stream, uint32_t is);

/* Writes the connections of report->later. */
int check_json_later(FILE *out, const struct check_report *report);

int check_json_summary(FILE *out, const struct check_report *report, bool brief, int status);

/* Result of one capture in the output of a shard (a process that checks a share of the captures).
 * `rocedrill merge` joins the results of all shards. */
struct check_part {
    const char *file;
    size_t position; /* index of the capture among the captures of all shards, from 0 */
    int status;
    const char *error; /* message on standard error, or NULL */
    const char *text, *junit;
};

/* check_json_shard() writes the first line of a shard's output. check_json_part() writes the line
 * after the summary of each capture. */
int check_json_shard(FILE *out, const struct shard *shard);
int check_json_part(FILE *out, const struct check_part *part);

#endif
