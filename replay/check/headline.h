/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Headline: sentences about a connection and about a capture for readers who do not know RDMA. The
 * JSON output and the HTML pages contain these sentences.
 */
#ifndef REPLAY_CHECK_HEADLINE_H
#define REPLAY_CHECK_HEADLINE_H

#include "check/check_report.h"
#include "util/strbuf.h"

/* State of a connection: its worst problem. A larger value is worse. */
enum headline_state {
    HEADLINE_OK,
    HEADLINE_PAUSED, /* long silences are a notable part of the connection's time */
    HEADLINE_MARKED, /* the connection has congestion marks or CNPs, and was not slow */
    HEADLINE_SLOW,
    HEADLINE_LOSSY, /* the connection lost messages that were never retransmitted */
    HEADLINE_STUCK,
    HEADLINE_VIOLATED, /* the connection violated a rule, and the violation is not a known
                        * deviation */
    HEADLINE_FAILED,
};

enum headline_state headline_state(const struct roce_conn_summary *sum);
const char *headline_state_name(enum headline_state state);

/* Appends one sentence about a connection. `points` is the comparison with a second capture, or
 * NULL. */
void headline_conn(struct strbuf *t, const struct roce_conn_summary *sum,
                   const struct two_points *points);

/* Appends one sentence about the capture: why it could not be read, or the worst problem of its
 * worst connection. Returns whether there was a problem. */
bool headline_capture(struct strbuf *t, const struct check_report *report);

#endif
