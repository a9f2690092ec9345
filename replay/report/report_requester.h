/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Report, requester's part: what was found where our RNIC stood for the recorded requester. */
#ifndef REPLAY_REPORT_REPORT_REQUESTER_H
#define REPLAY_REPORT_REPORT_REQUESTER_H

#include <stdint.h>
#include "report/report.h"
#include "util/strbuf.h"

/* The lines of connection `idx`. */
void report_requester_text(FILE *out, const struct request_comparison *v, uint32_t idx);

/* A new reference, or NULL without memory. */
json_t *report_requester_json(const struct request_comparison *v, uint32_t idx);

/* "  difference FILE: frame N: ...", a line: `rule` is its id or NULL, `end` comes before that. */
void report_diff(FILE *out, const struct trace *trace, const struct diff *diff, const char *rule,
                 const char *end);

/* "12 ACKs only ours has, 1 credit code": a count and what it counts, if it is not 0; *sep is put
 * before it and becomes a comma. */
void report_count(struct strbuf *t, const char **sep, uint64_t cnt, const char *what);

#endif
