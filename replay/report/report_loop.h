/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of closed loops (closed_loop.h): many plays of one capture, each with its own seed.
 */
#ifndef REPLAY_REPORT_REPORT_LOOP_H
#define REPLAY_REPORT_REPORT_LOOP_H

#include <jansson.h>
#include "base/error.h"
#include "sim/closed_loop.h"

/* A connection that failed with a seed. */
struct loop_failure {
    const char *what; /* "connection", "exchange" or "stream" */
    uint32_t number;  /* number of the connection, exchange or stream, from 1 */
    uint64_t seed;
    char reason[CLOSED_LOOP_REASON_MAX];
};

/* Results of all plays of a capture. */
struct loop_summary {
    struct closed_loop_sides ends;
    struct rc_requester post; /* our requester, if it sends to a recorded responder */
    uint32_t plays, failed;   /* number of plays with edits, and of those that failed; 0 if only the
                               * play without edits ran */
    struct closed_loop clean;
    uint64_t frames, lost, damaged, forged, repeated;
    uint64_t doubtful; /* number of ERROR findings after forged packets */
    uint64_t gave_up;  /* number of connections that gave up as the specification requires */
    uint64_t applied[IMPAIR_RULES_MAX];
    struct loop_failure *failure;
    size_t failure_cnt, failure_cap;
    uint32_t *failed_of; /* number of failed plays for each connection, then each exchange, then
                          * each stream */
};

/* Options of a closed loop. */
struct loop_options {
    struct impair_rules impair;
    const struct cm_exchanges *exchanges; /* exchanges of the capture, or NULL */
    const struct dgram_streams *streams;  /* streams of the capture, or NULL */
    unsigned sides;                       /* sides that our RNIC replaces, of enum replay_side; 0 is
                                           * both */
    uint64_t seed;                        /* seed of the first play */
    uint32_t repeat;                      /* number of plays, each with the next seed; at least 1 */
    const char *record;                   /* file for the packets of the last play, or NULL */
};

/* Plays an inferred capture once without edits, then `repeat` times with edits. Returns 0, or -1
 * and an error. Call loop_summary_free() in both cases. */
int closed_sum_run(struct loop_summary *sum, const struct session *session,
                   const struct loop_options *options, struct error *error);
void loop_summary_free(struct loop_summary *sum);

enum verdict loop_summary_verdict(const struct loop_summary *sum);
const char *closed_sum_skip_reason(const struct loop_summary *sum);

void report_closed_text(FILE *out, const struct loop_summary *sum,
                        const struct loop_options *options);

/* Returns the report as report_json() does, with the results of closed loops in "closed". Returns a
 * new reference, or NULL if out of memory. */
json_t *report_closed_json(const struct loop_summary *sum, const struct loop_options *options);

#endif
