/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Frames of one connection: a first pass over the capture finds the frames that the option
 * --connection selects. Commands call it before they read the capture themselves.
 */
#ifndef REPLAY_CHECK_CONNECTION_FRAMES_H
#define REPLAY_CHECK_CONNECTION_FRAMES_H

#include "base/error.h"
#include "capture/narrow.h"

/* Fills narrow->frames if the option --connection was given. The argument of --connection is the
 * connection's number in a check of the whole capture, without --first, --from, --to and --host.
 * `no_icrc`: do not compute ICRCs, as in the check that listed the connections. Returns 0, or -1
 * and an error: the capture cannot be read twice, or has no such connection. The caller calls
 * narrow_free() in both cases. */
int connection_frames(const char *path, struct narrow *narrow, bool no_icrc, struct error *error);

#endif
