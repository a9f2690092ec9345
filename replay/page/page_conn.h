/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Page conn: writes one connection, finding or summary as JSON for a page. The JSON is the object
 * that check_json.h writes, without members that are 0, false, null or empty. */
#ifndef REPLAY_PAGE_PAGE_CONN_H
#define REPLAY_PAGE_PAGE_CONN_H

#include "check/check_report.h"

/* Returns the JSON member "distributions" of a connection: latencies by side and operation, and
 * round trips of acknowledgements by side. Each distribution has three numbers for each bucket with
 * samples: lower bound and upper bound, ns, and number of samples. The caller frees the result.
 * Returns NULL if out of memory. */
char *page_conn_distributions(const struct roce_conn_summary *sum);

/*
 * Returns the object of a connection without its closing brace, so that the caller can append
 * members. It has the members of check_json_conn(), and:
 *   "title"     the two endpoints
 *   "trouble"   state of the connection as a number (enum headline_state); a larger one is worse
 *
 * and those of page_texts_conn().
 *
 * `points` is the comparison with a second capture, or NULL. The caller frees the result. Returns
 * NULL if out of memory.
 */
char *page_conn_json(const char *file, const struct check_conn *conn,
                     const struct two_points *points);

/* Write one object. Return 0, or -1 if it could not be written. */
int page_conn_write_finding(FILE *out, const char *file, const struct roce_finding *finding);
int page_conn_write_summary(FILE *out, const struct check_report *report, int status);

/* Writes JSON text that is inside an HTML script element. Writes "<" as an escape sequence, so that
 * the text cannot end the element. */
void page_conn_put_json(FILE *out, const char *json);

/* Writes a JSON string. */
int page_conn_put_string(FILE *out, const char *text);

#endif
