/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Timeline: advances the time of a running drill. After each step, it fetches the frames,
 * completions and events of the device and adds them to the log. It passes frames to
 * sim/flow_oracle.h, which reports violations of rules, and puts completions and events in the
 * queues that match.c reads. The engine (engine.c) calls these functions. If a device fails or
 * never stops sending, the timeline sets `endless`.
 */
#ifndef REPLAY_DRILL_TIMELINE_H
#define REPLAY_DRILL_TIMELINE_H

#include "drill/match.h"

/* Adds a row of text to the log. `line` is the number of the script line to which the row belongs,
 * or 0. */
void timeline_text(struct drill_engine *e, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds to the log a frame that the drill sends, and passes the frame to the flow oracle
 * (sim/flow_oracle.h). */
void timeline_sent(struct drill_engine *e, const struct script_event *event, const uint8_t *bytes,
                   size_t len);

/* Returns whether the drill must end because its device has failed or never stops sending. */
bool timeline_failed(struct drill_engine *e);

/* Fetches all frames, completions and events that the device has ready at this time. */
void timeline_drain(struct drill_engine *e);

/* Advances time to `to`, or only to the next timer of the device if that is earlier. */
void timeline_step(struct drill_engine *e, uint64_t to);

/* Advances time to `to`, and fires all timers of the device until then. */
void timeline_until(struct drill_engine *e, uint64_t to);

#endif
