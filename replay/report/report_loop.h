/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of closed loops: simulations with our RNIC at both ends of the connections
 * (sim/closed_loop.h). One capture is simulated many times, each time with another seed.
 */
#ifndef REPLAY_REPORT_REPORT_LOOP_H
#define REPLAY_REPORT_REPORT_LOOP_H

#include "base/error.h"
#include "sim/closed_loop.h"
#include "util/json_writer.h"

/* A connection, CM exchange or stream that failed in the simulation with one seed. */
struct loop_failure {
    const char *what; /* "connection", "exchange" or "stream" */
    uint32_t number;  /* number of the connection, exchange or stream, from 1 */
    uint64_t seed;
    char reason[CLOSED_LOOP_REASON_MAX];
};

/* Results of all closed loops of a capture. */
struct loop_summary {
    struct closed_loop_sides ends;
    /* Replay of our requester with the recorded responses. Filled only if the recorded responder is
     * played. */
    struct rc_requester post;
    /* Number of simulations with impairments (lost, delayed, altered packets), and number of those
     * that failed. 0 if only the simulation without impairments ran. */
    uint32_t plays, failed;
    struct closed_loop clean;
    uint64_t frames, lost, damaged, forged, repeated;
    uint64_t doubtful; /* number of ERROR findings that forged packets may have caused */
    /* Number of connections that the requester gave up after all retries, as the specification
     * requires. */
    uint64_t gave_up;
    uint64_t applied[IMPAIR_RULES_MAX];
    struct loop_failure *failure;
    size_t failure_cnt, failure_cap;
    /* For each connection, then each exchange, then each stream: number of simulations in which it
     * failed. */
    uint32_t *failed_of;
};

/* Options of all closed loops of one capture. */
struct loop_options {
    struct impair_rules impair;
    const struct cm_exchanges *exchanges; /* CM exchanges of the capture, or NULL */
    const struct dgram_streams *streams;  /* datagram streams of the capture, or NULL */
    /* Sides that our RNIC replaces, as bits of enum replay_role; 0: both sides. */
    unsigned sides;
    uint64_t seed; /* seed of the first simulation with impairments */
    /* Number of simulations with impairments, at least 1. Each one increments the seed. */
    uint32_t repeat;
    /* Name of the file to which the packets of the last simulation are written, or NULL. */
    const char *record;
};

/* Simulates a capture (`session`) once without impairments, then `repeat` times with them. Returns
 * 0, or -1 and an error. Call loop_summary_free() in both cases. */
int closed_sum_run(struct loop_summary *sum, const struct session *session,
                   const struct loop_options *options, struct error *error);
void loop_summary_free(struct loop_summary *sum);

enum verdict loop_summary_verdict(const struct loop_summary *sum);
const char *closed_sum_skip_reason(const struct loop_summary *sum);

void report_closed_text(FILE *out, const struct loop_summary *sum,
                        const struct loop_options *options);

/* Writes the report as JSON, in the form of report_json(), with the results of the closed loops in
 * the member "closed". */
void report_closed_json(struct json_writer *writer, const struct loop_summary *sum,
                        const struct loop_options *options);

#endif
