/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report: what a replay found, for people as text and for programs as JSON.
 */
#ifndef REPLAY_REPORT_REPORT_H
#define REPLAY_REPORT_REPORT_H

#include <jansson.h>
#include <stdio.h>
#include "engine/replay.h"

struct report_options {
    bool ladder;  /* print the whole conversation of every side */
    bool verbose; /* print memory regions and every free difference */
};

/* FAIL if a side failed, PASS if at least one passed and none failed; SKIPPED if nothing could be
 * replayed. */
enum verdict report_verdict(const struct replay *replay);

/* Of one run of the drive, both ends. */
enum verdict report_run_verdict(const struct replay *replay, uint32_t dir);

/* Why nothing could be replayed: the reason of the first side or flow that was skipped. */
const char *report_skip_reason(const struct replay *replay);

void report_text(FILE *out, const struct replay *replay, const struct report_options *options);

/* In report_json.c. New references, or NULL without memory. */
json_t *report_json(const struct replay *replay);
json_t *report_addr_json(const uint8_t addr[16]);

#endif
