/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of the behaviour that a replay copies from the capture, because packets do not determine
 * it. Our responder copies which request it refuses, the RNR NAKs that depend on the responder's
 * program, and the losses between capture point and responder. The code of the NAK that refuses the
 * request is not copied, but compared. Our requester copies at which times it goes back to an
 * earlier PSN, and which responses it receives. A replay cannot detect that a copied packet is
 * wrong, unless the capture itself contradicts it.
 */
#ifndef REPLAY_REPORT_REPORT_TAKEN_H
#define REPLAY_REPORT_REPORT_TAKEN_H

#include <jansson.h>
#include <stdio.h>
#include "engine/play/rc_requester.h"

/* Prints the line "taken from the capture: ..." of a direction. Prints nothing if the replay copied
 * nothing. */
void report_taken_text(FILE *out, const struct inferred_setup *s);

/* Adds the member "taken_from_capture" to `side`, the responder's object of a direction. Adds
 * nothing if the replay copied nothing. */
void report_taken_json(json_t *side, const struct inferred_setup *s);

/* Adds the member "taken_from_capture" to `side`, the requester's object of a direction. */
void report_taken_requester_json(json_t *side, const struct requester_run *run);

#endif
