/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report: prints the results of a replay as text or as the ladder diagrams of a page, or returns
 * them as JSON.
 */
#ifndef REPLAY_REPORT_REPORT_H
#define REPLAY_REPORT_REPORT_H

#include <jansson.h>
#include <stdio.h>
#include "engine/replay.h"
#include "util/strbuf.h"

struct report_options {
    bool ladder;  /* print all packets of a connection as a ladder diagram */
    bool verbose; /* also print memory regions and the differences that the specification permits */
};

void report_text(FILE *out, const struct replay *replay, const struct report_options *options);

/* Writes the ladder diagrams of all connections, streams and CM exchanges that failed, as HTML for
 * a page. */
void report_ladders(FILE *out, const struct replay *replay, const struct report_options *options);

/* Appends "requester ADDRESS QP ... → responder ADDRESS QP ...". */
void report_direction_ends(struct strbuf *t, const struct inferred_setup *setup);

/* Returns the report as JSON, or NULL if out of memory. The caller releases it with
 * json_decref(). */
json_t *report_json(const struct replay *replay);

#endif
