/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drill from a capture: writes a drill with the requests that a capture shows on one connection,
 * and with the actions of the responder's program. The device under test is the responder, at both
 * ends if both sent requests.
 *
 *   1. The replay engine infers the setup, and finds the actions (live/live_script.h).
 *   2. A first script has only the packets and actions. The software RNIC plays it.
 *   3. The responses, completions and events of the software RNIC become the lines that the drill
 *      expects. The software RNIC plays the result, which must pass.
 */
#ifndef REPLAY_DRILL_FROM_DRILL_FROM_H
#define REPLAY_DRILL_FROM_DRILL_FROM_H

#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

#define DRILL_FROM_FIRST UINT32_MAX

/* Writes the drill of a connection, which has the number that `rocedrill check` and `replay` print.
 * DRILL_FROM_FIRST is the first connection that can be replayed. Returns 0, or -1 and an error that
 * names the capture, and the frame if there is one. */
int drill_from_capture(const char *path, uint32_t connection, FILE *out, struct error *error);

#endif
