/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of closed loops (closed.h): many plays of one capture, each with its seed.
 */
#ifndef REPLAY_REPORT_REPORT_LOOP_H
#define REPLAY_REPORT_REPORT_LOOP_H

#include <jansson.h>
#include "base/error.h"
#include "sim/closed_loop.h"

/* A connection that failed with a seed. */
struct loop_failure {
    const char *what; /* "connection", "exchange" or "stream" */
    uint32_t number;  /* from 1 */
    uint64_t seed;
    char reason[CLOSED_LOOP_REASON_MAX];
};

/* What all plays of a capture came to. */
struct loop_summary {
    struct closed_loop_sides ends;
    struct rc_requester post; /* if ours requests from a recorded responder */
    uint32_t plays, failed;   /* plays with edits; 0: only the one without */
    struct closed_loop clean;
    uint64_t frames, lost, damaged, forged, repeated;
    uint64_t doubtful; /* ERRORs after forged packets */
    uint64_t gave_up;  /* connections that rightly gave up */
    uint64_t applied[IMPAIR_RULES_MAX];
    struct loop_failure *failure;
    size_t failure_cnt, failure_cap;
    uint32_t *failed_of; /* per connection, exchange and stream, one after the other: plays that
                          * failed */
};

/* How plays are asked for. */
struct loop_options {
    struct impair_rules impair;
    const struct cm_exchanges *exchanges; /* of the capture, or NULL */
    const struct dgram_streams *streams;  /* likewise */
    unsigned sides;                       /* our RNIC's, of enum replay_side; 0 is both */
    uint64_t seed;                        /* of the first play */
    uint32_t repeat;                      /* plays, each with the next seed; >= 1 */
    const char *record;                   /* the last play is written there, or NULL */
};

/* Plays a derived capture without edits, then `repeat` times with them. 0, or -1 and an error.
 * loop_summary_free() is wanted in both cases. */
int closed_sum_run(struct loop_summary *sum, const struct session *session,
                   const struct loop_options *options, struct error *error);
void loop_summary_free(struct loop_summary *sum);

enum verdict loop_summary_verdict(const struct loop_summary *sum);
const char *closed_sum_skip_reason(const struct loop_summary *sum);

void report_closed_text(FILE *out, const struct loop_summary *sum,
                        const struct loop_options *options);

/* As report_json(), with what belongs to closed loops in "closed". A new reference, or NULL without
 * memory. */
json_t *report_closed_json(const struct loop_summary *sum, const struct loop_options *options);

#endif
