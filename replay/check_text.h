/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parts of the report for people that check_text.c puts together. */
#ifndef REPLAY_CHECK_TEXT_H
#define REPLAY_CHECK_TEXT_H

#include "check_report.h"

/* Of what a side sent. */
const char *check_text_arrow(unsigned side);

/* "3 duplicates" behind *sep, which is a comma from then on; nothing for 0. */
void check_text_list(struct text *t, const char **sep, uint64_t cnt, const char *one,
                     const char *many);

/* "1 error, 2 notes", "no findings". */
void check_text_severities(struct text *t, const uint64_t cnt[ROCE_SEV_CNT]);

/* A connection: its line, with `details` what either side did, with `regions` the memory too. */
void check_text_conn(FILE *out, const struct check_conn *c, bool details, bool regions);

#endif
