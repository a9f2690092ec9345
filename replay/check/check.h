/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Check of one capture. check_run.c calls check_capture() for each capture, then prints the report.
 * Other commands call check_capture() to find connections (connection_frames.h) or to draw graphs.
 *
 *   1. split_choose_parts() divides the pairs of hosts between parts. Each part has a thread and an
 *      analysis engine rnic/flow.
 *   2. split_reader parses the frames of each part in its thread, and computes their ICRCs
 *   3. the thread judges the packets. Before it reports a finding or a new connection, the thread
 *      waits until all earlier packets were judged (turns.h). So the output equals that of a check
 *      with one thread. A capture that cannot be split, for example a pipe, is read by
 *      parallel_reader, and one thread at a time judges its packets.
 *   4. finding_groups and check_report collect the findings; check_json and annotate write each
 *      finding when it is reported
 *   5. check_text and check_junit print the report
 *
 * base/ has the state of a connection and the findings, which all reports use. points/ compares two
 * captures of the same traffic. causes/ describes why packets were lost and why a connection was
 * slow.
 *
 * The memory used does not depend on the length of the capture. Errors name the file and, if known,
 * the frame.
 */
#ifndef REPLAY_CHECK_CHECK_H
#define REPLAY_CHECK_CHECK_H

#include "base/error.h"
#include "check/check_report.h"

/* Callbacks for code that needs each packet or finding, for example to draw or to export packets.
 * Each callback may be NULL. check_capture() calls the callbacks and keeps no pointer to them after
 * it returned. */
struct check_watch {
    void *user; /* first argument of the callbacks */
    /* true: several threads may call on_packet and on_done at the same time. For one connection,
     * all calls come from one thread. */
    bool any_thread;
    void (*on_begin)(void *user, const struct roce_flow *flow); /* called before the first packet */
    void (*on_packet)(void *user, const struct roce_flow_in *in,
                      const struct roce_flow_result *result);
    void (*on_link)(void *user, enum roce_link_kind kind, uint32_t frame, uint32_t other);
    void (*on_done)(void *user, const struct roce_flow_done *done);
    void (*on_finding)(void *user, const struct roce_finding *finding);
    void (*on_cnp_episode)(void *user, const struct roce_cnp_episode *episode);
    void (*on_conn)(void *user, const struct roce_conn_summary *sum);
    /* Called when all frames that were read so far have been judged. */
    void (*on_batch)(void *user, const struct roce_flow *flow);
    void (*on_end)(void *user, const struct roce_flow *flow); /* called after the last packet;
                                                               * the results of roce_flow_owner()
                                                               * no longer change */
};

struct narrow;

struct check_options {
    bool keep_findings; /* keep every finding in report.groups.kept */
    bool keep_history;  /* keep the last events of each connection in report.history */
    uint32_t conn_max;  /* limit of the connections kept for the report; 0 keeps none */
    bool no_icrc;       /* do not compute ICRCs */
    bool progress;      /* show progress on standard error if that is a terminal */
    bool immediate;     /* print errors on standard error as soon as they are found */
    enum roce_profile profile;
    /* true: all devices are assumed to accept packets in any order. false: the packets show which
     * devices do */
    bool any_order;
    const struct narrow *narrow; /* selected frames; NULL: all */
    FILE *json;                  /* file for the JSON lines of findings and connections, or NULL */
    bool json_later;             /* keep the connections in report.later instead of writing them */
    bool json_all;               /* write all JSON lines; otherwise their length is limited */
    const char *annotate_to;     /* path of the annotated copy, "-" for standard output, or NULL */
    const struct check_watch *watch; /* array of watches */
    unsigned watch_cnt;
    const char *name; /* name of the capture in messages; NULL: its path */
    /* Number of threads; 0: number of processors. If 0, the capture is split into parts only if the
     * parts have about the same number of packets. */
    unsigned threads;
    size_t mem_max;     /* memory limit of rnic/flow, bytes; 0: the default of rnic/flow */
    bool sigint_caught; /* the caller called sigint_begin() */
};

/*
 * Checks the capture at `path` ("-": standard input) and fills `report`, which the caller must free
 * in every case. Returns 0, or -1 and an error. After an error, report->name is NULL if no frame
 * could be read. Otherwise the report covers everything before the error, and report->error points
 * to the message in `error`, which must live as long as the report.
 */
int check_capture(const char *path, const struct check_options *options,
                  struct check_report *report, struct error *error);

#endif
