/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Report of requesters: the results where our RNIC replaced the recorded requester. */
#ifndef REPLAY_REPORT_REPORT_REQUESTER_H
#define REPLAY_REPORT_REPORT_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>
#include "report/report.h"
#include "util/strbuf.h"

/* Prints the results of connection `idx` with our RNIC as the requester. */
void report_requester_text(FILE *out, const struct request_comparison *v, uint32_t idx);

/* Prints differences of our requester in connection `idx`. If `known` is true, prints the known
 * deviations of the peer, otherwise all other differences. */
void report_requester_diffs(FILE *out, const struct request_comparison *v, uint32_t idx,
                            bool known);

/* Returns the results of connection `idx` as JSON, or NULL if out of memory. The caller releases
 * it. */
json_t *report_requester_json(const struct request_comparison *v, uint32_t idx);

/* Prints a difference as one line: " difference FILE: frame N: ...", then the text `end`, then the
 * id of the violated rule `rule` unless it is NULL. */
void report_diff(FILE *out, const struct trace *trace, const struct diff *diff, const char *rule,
                 const char *end);

/* Appends *sep, then a count and its noun, such as "12 ACKs only ours has". Then sets *sep to a
 * comma. Appends nothing if the count is 0. A "*" in the noun becomes "s", or nothing if the count
 * is 1. */
void report_count(struct strbuf *t, const char **sep, uint64_t cnt, const char *what);

#endif
