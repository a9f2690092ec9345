/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Session: a monitor with its outputs (table, metrics) and the interface that it captures from, as
 * selected by the options of `rocedrill check`.
 *
 *   1. session_start(),
 *   2. check_capture() with session_watch(), and with session_source() if an interface was given,
 *   3. session_stop().
 */
#ifndef REPLAY_MONITOR_SESSION_H
#define REPLAY_MONITOR_SESSION_H

#include <stdio.h>
#include "base/error.h"
#include "check/check.h"

struct session_options {
    const char *interface;  /* interface to capture from, or NULL */
    uint64_t interval;      /* ns between two tables; 0: none */
    const char *prometheus; /* ADDR:PORT, or NULL */
    FILE *table;            /* file for the table, or NULL for no table */
};

/* Memory limit of rnic/flow in a session, bytes. A limit is necessary because a session can run for
 * weeks. */
#define SESSION_MEM_MAX ((size_t)256 << 20)

struct session;

/* Parses an interval such as "1s", "500ms" or "2min". Returns true and sets *ns. Returns false for
 * any other text, and for an interval below 10 ms or above 1 day. */
bool session_interval(const char *text, uint64_t *ns);

/* Starts the session. Writes the URL of the metrics to standard error. Returns NULL and sets an
 * error on failure. */
struct session *session_start(const struct session_options *options, struct error *error);
struct check_watch session_watch(struct session *session);

/* Returns the path of the pipe from which check reads the packets of the interface. Returns NULL if
 * the session does not capture from an interface. */
char *session_source(struct session *session);

/* Ends the session; NULL is allowed. If the kernel dropped packets, writes their number to standard
 * error. */
void session_stop(struct session *session);

#endif
