/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parts of the text report that check_text.c and conn_text.c share. */
#ifndef REPLAY_CHECK_CHECK_TEXT_H
#define REPLAY_CHECK_CHECK_TEXT_H

#include "check/check_report.h"
#include "util/cli_opts.h"
#include "util/strbuf.h"

/* Returns the arrow for packets sent by side 0 or side 1. */
const char *check_text_arrow(unsigned side);

/* Appends *sep, then a count and its noun, such as "3 duplicates". Sets *sep to a comma. Appends
 * nothing if `cnt` is 0. */
void check_text_list(struct strbuf *t, const char **sep, uint64_t cnt, const char *one,
                     const char *many);

/* Appends the counts of findings, such as "1 error, 2 notes, 2 known deviations" or "no findings".
 * `known` counts the known deviations; `cnt` includes them. */
void check_text_findings(struct strbuf *t, const uint64_t cnt[ROCE_SEV_CNT],
                         const uint64_t known[ROCE_SEV_CNT]);

/* Prints a connection: one line for the connection, then lines for each side. `end` is the time of
 * the last frame of the capture, ns. `verbose` adds the memory regions. */
void check_text_conn(FILE *out, const struct check_conn *c, uint64_t end, bool verbose);

/* Prints the last line of the text report on several captures. cnt[s]: number of captures with exit
 * status s. */
void check_text_sum(FILE *out, const size_t cnt[EXIT_UNUSABLE + 1], size_t captures);

#endif
