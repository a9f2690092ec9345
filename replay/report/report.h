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

void report_text(FILE *out, const struct replay *replay, const struct report_options *options);

/* Returns a new reference, or NULL without memory. */
json_t *report_json(const struct replay *replay);

#endif
