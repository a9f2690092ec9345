/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Monitor: shows the state of each QP pair while a capture is read. It prints a table at intervals,
 * and provides counters for Prometheus. This is the main header of replay/monitor; session.c calls
 * its functions:
 *
 *   1. monitor_new(),
 *   2. check_capture() with the callbacks that monitor_watch() returns; metrics_serve() (metrics.h)
 *      may run during this call,
 *   3. monitor_del().
 *
 * Intervals are intervals of capture time. When the first packet after an interval arrives, the
 * monitor ends the interval and prints the table (a tick). With `wall_clock`, a thread also ticks
 * while no packet arrives. Set it only for a capture that is still being recorded.
 *
 * The memory used is fixed: the monitor has at most MONITOR_ROWS rows. If no row is free, a new
 * connection replaces the connections with the longest idle times. Their counters are lost.
 */
#ifndef REPLAY_MONITOR_MONITOR_H
#define REPLAY_MONITOR_MONITOR_H

#include <stdio.h>
#include "base/error.h"
#include "check/check.h"
#include "monitor/row.h"

#define MONITOR_ROWS 4096u /* maximum number of rows of the table */

struct monitor_options {
    FILE *out;         /* file for the table, or NULL */
    bool terminal;     /* `out` is a terminal: each table overwrites the previous one */
    uint64_t interval; /* ns */
    bool wall_clock;
};

struct monitor;

/* Returns a new monitor, or NULL and an error. Copies `options`. */
struct monitor *monitor_new(const struct monitor_options *options, struct error *error);
void monitor_del(struct monitor *monitor); /* Frees the monitor. `monitor` may be NULL. */
struct check_watch monitor_watch(struct monitor *monitor);

/* Calls `fn` for each row, in any order. Meanwhile the monitor counts no packets. Any thread may
 * call this function. */
void monitor_each(struct monitor *monitor, void (*fn)(void *user, const struct monitor_row *row),
                  void *user);

#endif
