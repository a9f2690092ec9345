/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report: prints the results of a replay as text, as the ladder diagrams of a page, or as JSON.
 */
#ifndef REPLAY_REPORT_REPORT_H
#define REPLAY_REPORT_REPORT_H

#include <stdio.h>
#include "engine/replay.h"
#include "util/json_writer.h"
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

/* Writes the report as JSON. */
void report_json(struct json_writer *writer, const struct replay *replay);

#endif
