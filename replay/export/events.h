/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Events: JSON lines of the packets and events of a capture, one object per line, written while the
 * capture is read. events.schema.json defines each line.
 */
#ifndef REPLAY_EXPORT_EVENTS_H
#define REPLAY_EXPORT_EVENTS_H

#include <stdio.h>
#include "check/check.h"
#include "export/conn_set.h"
#include "export/frame_list.h"

#define EVENTS_VERSION 1u

struct events {
    FILE *out;
    /* Numbers of the connections in the lines written so far for the capture. */
    struct conn_set conns;
    struct frame_list acked; /* request frames that the current frame acknowledges */
    bool failed;
};

void events_begin(struct events *events, const char *name);
struct check_watch events_watch(struct events *events);
void events_end(struct events *events, const struct check_report *report);
void events_free(struct events *events);

#endif
