/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Connection of a check: what the observer's last word on it was, in a form that stays after the
 * observer is gone, and the words for it.
 */
#ifndef REPLAY_CHECK_CONN_SUMMARY_H
#define REPLAY_CHECK_CONN_SUMMARY_H

#include "check/conn_state.h"
#include "check/event_history.h"
#include "flow/flow.h"
#include "util/strbuf.h"

/* Of the samples of a histogram; all 0 without any. */
struct check_latency {
    uint64_t cnt, min_ns, p50_ns, p90_ns, p99_ns, max_ns;
};

struct check_conn {
    struct roce_conn_summary sum; /* latencies are below, regions here; pointers are not NULL only
                                     where there is something */
    struct check_latency latency[2][ROCE_OPER_CNT];
    struct check_latency rtt[2];
    struct roce_region region[2][ROCE_REGIONS_MAX];
};

enum check_verdict {
    CHECK_HOLDS,
    CHECK_VIOLATED, /* an ERROR finding that is not a known deviation */
    CHECK_SKIPPED,  /* no packet to judge */
};

void check_conn_set(struct check_conn *conn, const struct roce_conn_summary *sum);

enum check_verdict check_conn_verdict(const struct roce_conn_summary *sum);
const char *check_verdict_name(enum check_verdict verdict); /* "holds", "violated", "skipped" */

/* Orders by what a reader wants to see first: violations, failures, warnings, then the busiest.
 * For qsort(). */
int check_conn_order(const void *a, const void *b);

/* "RC 192.0.2.1 QP 0x000011 ↔ 192.0.2.2 QP 0x000012". */
void check_conn_title(struct strbuf *t, const struct roce_conn_summary *sum);

/* Of a failed or stuck connection: who stopped, at what, and what its program sees. */
void check_conn_reason(struct strbuf *t, const struct roce_conn_summary *sum);

/* What usually is behind it; nothing where there is nothing to say. `request` is the event with the
 * request that was the last, or NULL. */
void check_conn_hint(struct strbuf *t, const struct roce_conn_summary *sum,
                     const struct history_event *request);

#endif
