/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of closed loops (sim/closed_loop.h): one capture is played many times, each time with
 * another seed.
 */
#ifndef REPLAY_REPORT_REPORT_LOOP_H
#define REPLAY_REPORT_REPORT_LOOP_H

#include <jansson.h>
#include "base/error.h"
#include "sim/closed_loop.h"

/* Connection, CM exchange or stream that failed with one seed. */
struct loop_failure {
    const char *what; /* "connection", "exchange" or "stream" */
    uint32_t number;  /* number of the connection, exchange or stream, from 1 */
    uint64_t seed;
    char reason[CLOSED_LOOP_REASON_MAX];
};

/* Results of all closed loops of a capture. */
struct loop_summary {
    struct closed_loop_sides ends;
    struct rc_requester post; /* replay of our requester with the recorded responses; only if a
                               * recorded responder is played */
    uint32_t plays, failed;   /* number of plays with impairments, and number of failed ones; 0
                               * if only the play without impairments ran */
    struct closed_loop clean;
    uint64_t frames, lost, damaged, forged, repeated;
    uint64_t doubtful; /* number of ERROR findings after forged packets */
    uint64_t gave_up;  /* number of connections that gave up as the specification requires */
    uint64_t applied[IMPAIR_RULES_MAX];
    struct loop_failure *failure;
    size_t failure_cnt, failure_cap;
    uint32_t *failed_of; /* for each connection, then each exchange, then each stream: number of
                          * failed plays */
};

/* Options of a run of closed loops on one capture. */
struct loop_options {
    struct impair_rules impair;
    const struct cm_exchanges *exchanges; /* CM exchanges of the capture, or NULL */
    const struct dgram_streams *streams;  /* datagram streams of the capture, or NULL */
    unsigned sides;                       /* sides that our RNIC replaces, bits of enum
                                           * replay_side; 0 for both sides */
    uint64_t seed;                        /* seed of the first play */
    uint32_t repeat;                      /* number of plays with impairments, at least 1; each
                                           * play uses the next seed */
    const char *record;                   /* name of the file for the packets of the last play,
                                           * or NULL */
};

/* Plays an inferred capture once without impairments, then `repeat` times with them. Returns 0,
 * or -1 and an error. Call loop_summary_free() in both cases. */
int closed_sum_run(struct loop_summary *sum, const struct session *session,
                   const struct loop_options *options, struct error *error);
void loop_summary_free(struct loop_summary *sum);

enum verdict loop_summary_verdict(const struct loop_summary *sum);
const char *closed_sum_skip_reason(const struct loop_summary *sum);

void report_closed_text(FILE *out, const struct loop_summary *sum,
                        const struct loop_options *options);

/* Returns the report of report_json() with the results of the closed loops in "closed". Returns
 * a new reference, or NULL if out of memory. */
json_t *report_closed_json(const struct loop_summary *sum, const struct loop_options *options);

#endif
