/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of closed loops (closed.h): many plays of one capture, each with its seed.
 */
#ifndef REPLAY_REPORT_REPORT_LOOP_H
#define REPLAY_REPORT_REPORT_LOOP_H

#include <jansson.h>
#include "sim/closed_loop.h"

/* A connection that failed with a seed. */
struct closed_failure {
    const char *what; /* "connection", "exchange" or "stream" */
    uint32_t number;  /* from 1 */
    uint64_t seed;
    char reason[CLOSED_REASON_MAX];
};

/* What all plays of a capture came to. */
struct closed_sum {
    struct closed_ends ends;
    struct post post;       /* if ours requests from a recorded responder */
    uint32_t plays, failed; /* plays with edits; 0: only the one without */
    struct closed clean;
    uint64_t frames, lost, damaged, forged, repeated;
    uint64_t doubtful; /* ERRORs after forged packets */
    uint64_t gave_up;  /* connections that rightly gave up */
    uint64_t struck[EDITS_MAX];
    struct closed_failure *failure;
    size_t failure_cnt, failure_cap;
    uint32_t *failed_of; /* per connection, exchange and stream, one after the other: plays that
                          * failed */
};

/* How plays are asked for. */
struct closed_options {
    struct edits edits;
    const struct exchanges *exchanges; /* of the capture, or NULL */
    const struct streams *streams;     /* likewise */
    unsigned sides;                    /* our RNIC's, of enum replay_side; 0 is both */
    uint64_t seed;                     /* of the first play */
    uint32_t repeat;                   /* plays, each with the next seed; >= 1 */
    const char *record;                /* the last play is written there, or NULL */
};

/* Plays a derived capture without edits, then `repeat` times with them. 0, or -1 and a fault.
 * closed_sum_free() is wanted in both cases. */
int closed_sum_run(struct closed_sum *sum, const struct drive *drive,
                   const struct closed_options *options, struct fault *fault);
void closed_sum_free(struct closed_sum *sum);

enum verdict closed_sum_verdict(const struct closed_sum *sum);
const char *closed_sum_skip_reason(const struct closed_sum *sum);

void report_closed_text(FILE *out, const struct closed_sum *sum,
                        const struct closed_options *options);

/* As report_json(), with what belongs to closed loops in "closed". A new reference, or NULL without
 * memory. */
json_t *report_closed_json(const struct closed_sum *sum, const struct closed_options *options);

#endif
