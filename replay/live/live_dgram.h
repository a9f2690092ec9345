/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live streams: UC and UD, whose packets nobody answers, with a device at whose end an agent is.
 *
 * The target as the receiver: the agent makes a QP and posts receive requests, the recorded packets
 * go out with live numbers, and what the QP completes and what is in the far memory is compared
 * with what a conformant receiver makes of them (delivery.h). The target as the sender: the agent
 * posts what the recorded sender must have posted, and its packets are compared with the recorded.
 */
#ifndef REPLAY_LIVE_LIVE_DGRAM_H
#define REPLAY_LIVE_LIVE_DGRAM_H

#include "base/error.h"
#include "live/live.h"
#include "infer/roles.h"
#include "engine/dgram_stream.h"

/* Finds the streams of the trace and plays those ends, of enum replay_side; only those of an agent.
 * `peer` is the profile whose deviations are known, or NULL. After live_open().
 * dgram_streams_judge() has been called then. 0, or -1 and an error; dgram_streams_free() is wanted
 * in both cases. */
int live_dgram_play(struct live *live, struct dgram_streams *streams, unsigned sides,
                    const char *peer, struct error *error);

/* dgram_to_target.c, dgram_from_target.c: plays all streams of that role that have no reason not to
 * be. */
int dgram_to_target_play(struct live *live, struct dgram_streams *streams, const char *peer,
                         struct error *error);
int dgram_from_target_play(struct live *live, struct dgram_streams *streams, struct error *error);

#endif
