/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Slow causes: describes why a connection that did not fail was slow. Examples are lost, reordered
 * or damaged packets, missing responses, receive queues without WQEs, and congestion.
 */
#ifndef REPLAY_CHECK_CAUSES_SLOW_CAUSES_H
#define REPLAY_CHECK_CAUSES_SLOW_CAUSES_H

#include <stdio.h>
#include "check/points/two_points.h"

/* Returns whether a connection was slow: it has many retransmitted or damaged packets, its
 * requesters waited for a long time, or its rate fell after CNPs. Returns false for a connection
 * that failed or got stuck, because the report describes it elsewhere. Also returns false for UC
 * and UD, where no requester waits for lost packets. */
bool check_conn_slow(const struct roce_conn_summary *sum);

/* Returns whether long silences are a notable part of the connection's time (silence_text.h), and
 * the connection neither failed nor got stuck nor was slow. */
bool check_conn_paused(const struct roce_conn_summary *sum);

/* Prints the causes of a slow connection, each with a hint where to search. The lines are indented;
 * lines about a side begin with its arrow.
 * `scope` is Wireshark's display filter for the packets of the connection. Unless `scope` is NULL,
 * prints after each cause a filter for the packets that show the cause.
 * `points` is the comparison with a second capture, or NULL. If losses or delays between the two
 * capture points explain a cause, prints them instead of the hint.
 * `rnic_dropped`: rnic-run dropped packets because of --impair, so that no hint tells to search for
 * drops. */
void slow_causes_print(FILE *out, const struct roce_conn_summary *sum, const char *scope,
                       const struct two_points *points, bool rnic_dropped);

#endif
