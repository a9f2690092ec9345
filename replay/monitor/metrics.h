/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Metrics: serves the counters of a monitor to Prometheus by HTTP, in its text format 0.0.4. One
 * thread serves one client after another. The thread closes the connection of a client that is
 * silent for two seconds.
 */
#ifndef REPLAY_MONITOR_METRICS_H
#define REPLAY_MONITOR_METRICS_H

#include <stdio.h>
#include "base/error.h"
#include "monitor/monitor.h"

struct metrics;

/* Listens on "ADDR:PORT", ":PORT" or "PORT", by default on 127.0.0.1, and starts the thread. Port 0
 * selects a free port. Writes the address to `where` (e.g. "127.0.0.1:9095"). Returns NULL and an
 * error if the address is invalid or already in use. */
struct metrics *metrics_serve(struct monitor *monitor, const char *address, char where[64],
                              struct error *error);
void metrics_stop(struct metrics *metrics); /* Stops the thread and frees the metrics. `metrics`
                                             * may be NULL. */

/* Writes all metrics of the monitor. */
void metrics_print(FILE *out, struct monitor *monitor);

#endif
