/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The report for people within limits, and parts of it. */
#ifndef REPLAY_CHECK_CHECK_TEXT_H
#define REPLAY_CHECK_CHECK_TEXT_H

#include "check/check_report.h"
#include "util/strbuf.h"

/* Of what a side sent. */
const char *check_text_arrow(unsigned side);

/* "3 duplicates" behind *sep, which is a comma from then on; nothing for 0. */
void check_text_list(struct strbuf *t, const char **sep, uint64_t cnt, const char *one,
                     const char *many);

/* "1 error, 2 notes", "no findings". */
void check_text_severities(struct strbuf *t, const uint64_t cnt[ROCE_SEV_CNT]);

/* A connection: its line, and what either side did in at most *details lines, which are taken from
 * it; how many more there would be. With `regions` the memory too. */
uint32_t check_text_conn(FILE *out, const struct check_conn *c, uint32_t *details, bool regions);

/* How much of a report is printed. */
enum check_limit {
    CHECK_LIMIT_SECTIONS, /* of "why it failed", "what got stuck", "what slowed it" */
    CHECK_LIMIT_STORIES,  /* in each of them */
    CHECK_LIMIT_EVENTS,   /* the last ones, in each story */
    CHECK_LIMIT_CONNS,
    CHECK_LIMIT_DETAILS, /* lines on what either side did, of all connections */
    CHECK_LIMIT_NOTES,   /* kinds of findings */
    CHECK_LIMIT_WARNS,
    CHECK_LIMIT_ERRORS,
    CHECK_LIMIT_FINDINGS, /* of all three */
    CHECK_LIMIT_CNT
};

struct check_limits {
    uint32_t max[CHECK_LIMIT_CNT];
};

/* The report within limits; what is left out is said in one line before the verdict. */
void check_text_within(FILE *out, const struct check_report *report,
                       const struct check_limits *limits);

#endif
