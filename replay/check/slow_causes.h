/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Slow causes: describes the causes that slowed down a connection that did not fail: packets
 * lost, reordered or damaged, missing responses, receive queues without WQEs, congestion.
 */
#ifndef REPLAY_CHECK_SLOW_CAUSES_H
#define REPLAY_CHECK_SLOW_CAUSES_H

#include <stdio.h>
#include "flow/base/summary.h"

/* Returns whether such causes cost enough to report: packets retransmitted or damaged, or time.
 * Returns false for a connection that failed or got stuck, because its report has another
 * description. Returns false too if no requester waits for the lost packets. */
bool check_conn_slow(const struct roce_conn_summary *sum);

/* Prints the causes of a slow connection, each with the place to look for it. The lines are
 * indented; those of a side begin with its arrow. */
void slow_causes_print(FILE *out, const struct roce_conn_summary *sum);

#endif
