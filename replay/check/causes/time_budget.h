/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Time budget: how long a requester waited, for each cause of the waits. Used by the reports of
 * check.
 */
#ifndef REPLAY_CHECK_CAUSES_TIME_BUDGET_H
#define REPLAY_CHECK_CAUSES_TIME_BUDGET_H

#include <stdio.h>
#include "check/causes/slow_direction.h"
#include "check/causes/wait_cause.h"

/* A part of the time of a connection. */
struct wait_part {
    const char *id;    /* id of the cause in JSON */
    const char *label; /* name of the cause for readers who do not know RDMA */
    enum wait_cause cause;
    uint64_t ns;
    unsigned permille; /* share of the time, rounded so that all shares sum to 1000; set only by
                        * time_budget_parts() */
};

/* Returns the cause with which reports describe a wait: usually `cause`, but WAIT_UNKNOWN in two
 * cases. In the first case, `cause` is WAIT_TIMEOUT and the capture lacks the responses to the
 * requester, so it does not show the reason of the timeout. In the second case, `cause` is
 * WAIT_SILENCE and the wait ended inside a message, so the requester did not wait for a program. */
enum wait_cause time_budget_words(const struct slow_direction *w, enum wait_cause cause);

/* Returns what a requester waited for, for example "ACK timeouts". */
const char *time_budget_what(enum wait_cause cause);

/* Returns how long the requester waited because of a cause, ns. */
uint64_t time_budget_ns(const struct slow_direction *w, enum wait_cause cause);

/* Fills `wait` with the waits of the side that waited longer in total, longest first. Sets *side to
 * the number of that side. Returns the number of waits; 0 if no side waited. */
unsigned time_budget_waits(const struct roce_conn_summary *sum, struct wait_part wait[WAIT_CAUSES],
                           unsigned *side);

/* Fills `part` with the waits of time_budget_waits(), then idle time and the rest of the time.
 * Returns the number of parts; 0 if no side waited for 1 % of the time. */
unsigned time_budget_parts(const struct roce_conn_summary *sum, struct wait_part part[TIME_PARTS]);

/* Returns the total wait of the side with the longer total wait, ns. */
uint64_t time_budget_waited_ns(const struct roce_conn_summary *sum);

/* Prints how long the requester waited, for each cause. Prints nothing if it waited less than 1 %
 * of the connection's time. */
void time_budget_print(FILE *out, const struct slow_direction *w, const char *arrow);

/* Appends a clause with the cause of a wait, for readers who do not know RDMA. `points` is the
 * comparison with a second capture, or NULL. */
void time_budget_explain(struct strbuf *t, const struct roce_conn_summary *sum, unsigned side,
                         enum wait_cause cause, const struct two_points *points);

#endif
