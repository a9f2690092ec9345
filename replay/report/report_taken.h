/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of what a replay takes from the capture. For our responder: the responses that it cannot
 * decide, because they depend on its program or on packets lost behind the capture point. For our
 * requester: when it restarts, and which responses it receives. An altered one passes if nothing
 * else in the capture contradicts it.
 */
#ifndef REPLAY_REPORT_REPORT_TAKEN_H
#define REPLAY_REPORT_REPORT_TAKEN_H

#include <jansson.h>
#include <stdio.h>
#include "engine/rc_requester.h"

/* Prints the line "taken from the capture: ..." of a direction, unless nothing is taken. */
void report_taken_text(FILE *out, const struct inferred_setup *s);

/* Adds the member "taken_from_capture" to the responder's object of a direction, unless nothing is
 * taken. */
void report_taken_json(json_t *side, const struct inferred_setup *s);

/* The same for the requester's object. */
void report_taken_requester_json(json_t *side, const struct requester_run *run);

#endif
