/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Perfetto: writes a trace for ui.perfetto.dev (TrackEvent packets of perfetto.protos.Trace).
 *
 * Each connection is a process of the trace. For the requests of each side, the process has tracks
 * for messages, request packets, responses and findings, and tracks for counters. An arrow points
 * from a request packet to the packet that acknowledges it. Perfetto needs the description of a
 * counter before its values, and the final connections are known only at the end of the capture. So
 * the events are kept in a temporary file until the end of the capture.
 */
#ifndef REPLAY_EXPORT_PERFETTO_H
#define REPLAY_EXPORT_PERFETTO_H

#include <stdio.h>
#include "base/error.h"
#include "check/check.h"
#include "export/frame_list.h"
#include "export/protobuf.h"

struct perfetto_track_state;

struct perfetto {
    FILE *out;
    FILE *body; /* temporary file with the encoded events */
    struct protobuf packet;
    unsigned capture;                    /* index of the capture in the trace */
    struct perfetto_track_state **track; /* track states; index: connection number * 2 + side */
    size_t track_cnt;
    struct frame_list acked; /* request frames that the current frame acknowledges */
    bool begun;              /* the first packet of the trace was written */
    bool failed;
};

/* Prepares a trace in `out`. Returns 0, or -1 and an error. */
int perfetto_open(struct perfetto *perfetto, FILE *out, struct error *error);
struct check_watch perfetto_watch(struct perfetto *perfetto);

/* Frees the trace; the caller closes `out`. Returns 0, or -1 if an event could not be written. */
int perfetto_close(struct perfetto *perfetto);

#endif
