/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Page texts: sentences and the time budget of a page, as members of the JSON objects in it. Called
 * by page_conn.c and page_data.c. */
#ifndef REPLAY_PAGE_PAGE_TEXTS_H
#define REPLAY_PAGE_PAGE_TEXTS_H

#include "check/check_report.h"
#include "page/packet_runs.h"
#include "util/json_line.h"

/*
 * Writes these members of a connection:
 *   "duration_ns"  duration; a script cannot compute it, because times in ns exceed 2^53
 *   "ends"         service and QPs, for readers who do not know RDMA
 *   "names"        addresses and QPs of both sides
 *   "why"          report: why the connection failed, got stuck or was slow; null if it did not
 *   "advice"       the advice in this report, as a sentence, or null
 *   "spent"        title of the time budget
 *   "budget"       array of [style, text, share of the time in 1/1000]
 *
 * "spent" and "budget" are omitted if the requester waited for less than 1 % of the duration.
 */
void page_texts_conn(struct json_line *to, const struct roce_conn_summary *sum,
                     const struct two_points *points);

/* Writes a sentence: how many packets of a connection are drawn together with others, or, if `runs`
 * is NULL, that the page has no packets of the connection. Writes nothing if all packets are drawn
 * alone. */
void page_texts_drawn(FILE *out, const struct packet_runs *runs);

/* Appends what the capture contains, as a sentence. */
void page_texts_facts(struct strbuf *t, const struct check_report *report);

/* Appends the number of findings of each severity, as a sentence. `left_out`: number of findings
 * that the page does not list. */
void page_texts_findings(struct strbuf *t, const struct check_report *report, uint64_t left_out);

#endif
