/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "monitor/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "monitor/live_source.h"
#include "monitor/metrics.h"
#include "monitor/monitor.h"

#define MS            UINT64_C(1000000) /* ns */
#define INTERVAL_MIN  (10 * MS)
#define INTERVAL_MAX  (24 * 3600 * 1000 * MS)
#define INTERVAL_NONE UINT64_MAX /* no table is printed: the monitor never ticks */

struct session {
    const char *interface;
    struct live_source *source;
    struct monitor *monitor;
    struct metrics *metrics;
};

bool session_interval(const char *text, uint64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ms", MS}, {"s", 1000 * MS}, {"", 1000 * MS}, {"min", 60 * 1000 * MS}};
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 8)
        return false;
    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(text + digits, units[i].name) == 0) {
            *ns = strtoull(text, NULL, 10) * units[i].ns;
            return *ns >= INTERVAL_MIN && *ns <= INTERVAL_MAX;
        }
    return false;
}

static int start_parts(struct session *session, const struct session_options *options,
                       struct error *error)
{
    FILE *table = options->interval ? options->table : NULL;
    const struct monitor_options monitor = {
        .out = table,
        .terminal = table && isatty(fileno(table)),
        .interval = options->interval ? options->interval : INTERVAL_NONE,
        .wall_clock = options->interface != NULL,
    };
    char where[64];

    session->monitor = monitor_new(&monitor, error);
    if (!session->monitor)
        return -1;
    if (options->prometheus) {
        session->metrics = metrics_serve(session->monitor, options->prometheus, where, error);
        if (!session->metrics)
            return -1;
        fprintf(stderr, "rocedrill: metrics at http://%s/metrics\n", where);
    }
    session->interface = options->interface;
    if (options->interface) {
        session->source = live_source_start(options->interface, error);
        if (session->source)
            fprintf(stderr, "rocedrill: capturing on %s; Ctrl-C ends the capture\n",
                    options->interface);
    }
    if (monitor.terminal && (!options->interface || session->source))
        fputs("\x1b[2J", table); /* clears the terminal before the first table */
    return options->interface && !session->source ? -1 : 0;
}

struct session *session_start(const struct session_options *options, struct error *error)
{
    struct session *session = calloc(1, sizeof(*session));

    if (!session) {
        error_set(error, "no memory");
        return NULL;
    }
    if (start_parts(session, options, error) != 0) {
        session_stop(session);
        return NULL;
    }
    return session;
}

struct check_watch session_watch(struct session *session)
{
    return monitor_watch(session->monitor);
}

char *session_source(struct session *session)
{
    return session->source ? live_source_path(session->source) : NULL;
}

void session_stop(struct session *session)
{
    uint64_t received = 0, dropped = 0;

    if (!session)
        return;
    live_source_stop(session->source, &received, &dropped);
    metrics_stop(session->metrics);
    monitor_del(session->monitor);
    if (dropped)
        fprintf(stderr, "rocedrill: %s: the kernel dropped %" PRIu64 " of %" PRIu64 " packets\n",
                session->interface, dropped, received + dropped);
    free(session);
}
