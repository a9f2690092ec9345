/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Page texts: sentences and the time budget of a page, as members of the JSON objects in it. Called
 * by page_conn.c and page_data.c. */
#ifndef REPLAY_PAGE_PAGE_TEXTS_H
#define REPLAY_PAGE_PAGE_TEXTS_H

#include "check/check_report.h"
#include "page/packet_runs.h"
#include "util/json_line.h"

/* Writes the members of a connection. A member without a text is null:
 *   "duration_ns"  duration of the connection, because a script cannot compute it: times exceed
 * 2^53 "ends"      service and QPs, for readers who do not know RDMA "why"       text of the
 * report: why the connection failed, got stuck or was slow "advice"    the advice in this text, as
 * a sentence "spent"     the sentence above the time budget "budget"    array of [style, text,
 * share of the time in 1/1000]
 */
void page_texts_conn(struct json_line *to, const struct roce_conn_summary *sum,
                     const struct two_points *points);

/* Writes how many packets of a connection are drawn together with others, as a sentence. Writes
 * nothing if there are none. `runs` is NULL if the page has no packets of the connection. */
void page_texts_drawn(FILE *out, const struct packet_runs *runs);

/* Appends what the capture contains, as a sentence. */
void page_texts_facts(struct strbuf *t, const struct check_report *report);

/* Appends the number of findings of each severity, as a sentence. `left_out`: number of findings
 * that the page does not have. */
void page_texts_findings(struct strbuf *t, const struct check_report *report, uint64_t left_out);

#endif
