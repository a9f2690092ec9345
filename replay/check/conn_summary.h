/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Connection of a check: a copy of the latest summary of a connection from rnic/flow, and functions
 * that describe the connection as text. The copy outlives the state of rnic/flow.
 */
#ifndef REPLAY_CHECK_CONN_SUMMARY_H
#define REPLAY_CHECK_CONN_SUMMARY_H

#include "check/base/conn_state.h"
#include "check/event_history.h"
#include "flow/flow.h"
#include "util/strbuf.h"

/* Percentiles of a histogram in ns; all 0 if the histogram has no sample. */
struct check_latency {
    uint64_t cnt, min_ns, p50_ns, p90_ns, p99_ns, max_ns;
};

#define CHECK_PROGRAM_LEN 64u /* size of the name of a program, bytes */

struct check_conn {
    /* Summary of the connection. Its pointers point to `latency`, `rtt` and `region` below, or are
     * NULL if there is no data. */
    struct roce_conn_summary sum;
    uint64_t waited_ns; /* total wait of the side with the longer total wait, if the connection is
                         * slow; otherwise 0 */
    struct check_latency latency[2][ROCE_OPER_CNT];
    struct check_latency rtt[2];
    struct roce_region region[2][ROCE_REGIONS_MAX];
    /* Programs at both ends, for example "rping, process 37"; "": unknown or not needed
     * (programs.h). */
    char program[2][CHECK_PROGRAM_LEN];
};

enum check_verdict {
    CHECK_HOLDS,
    CHECK_VIOLATED, /* has an ERROR finding that is not a known deviation */
    CHECK_SKIPPED,  /* has no packet to check */
};

void check_conn_set(struct check_conn *conn, const struct roce_conn_summary *sum);

/* Returns the number of ERROR findings that are not known deviations. */
uint64_t check_conn_errors(const struct roce_conn_summary *sum);

enum check_verdict check_conn_verdict(const struct roce_conn_summary *sum);
const char *check_verdict_name(enum check_verdict verdict); /* Returns "holds", "violated" or
                                                             * "skipped". */

/* Compares two connections for qsort(): first violations, then failures, then stuck connections,
 * then slow connections with the longest wait, then warnings, then the connections with the most
 * packets. */
int check_conn_order(const void *a, const void *b);

/* Appends a title such as "RC 192.0.2.1 QP 0x000011 ↔ 192.0.2.2 QP 0x000012". */
void check_conn_title(struct strbuf *t, const struct roce_conn_summary *sum);

/* Appends why a connection failed or got stuck: the end that stopped, the request at which it
 * stopped, and the error that the program at that end gets. */
void check_conn_reason(struct strbuf *t, const struct roce_conn_summary *sum);

/* Appends the usual reason why a connection failed or got stuck. Appends nothing if no reason is
 * known. `request` is the event of the last request, or NULL. `compared`: the user gave a capture
 * of the other end, so the text does not advise to compare with one. */
void check_conn_hint(struct strbuf *t, const struct roce_conn_summary *sum,
                     const struct history_event *request, bool compared);

#endif
