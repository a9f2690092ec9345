/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live datagram streams (UC and UD), with an agent on the target's host. live_replay.c calls
 * live_dgram_play() after live_open().
 *
 * If the target is the receiver (dgram_to_target.c), the agent creates a QP and posts receives. We
 * send the recorded packets with the addresses, QPNs, PSNs and R_Keys of this run. Completions and
 * memory are compared with those of a conformant receiver (engine/dgram/dgram_expected.h).
 *
 * If the target is the sender (dgram_from_target.c), the agent posts the recorded messages. The
 * target's packets are compared with the recorded ones.
 */
#ifndef REPLAY_LIVE_LIVE_DGRAM_H
#define REPLAY_LIVE_LIVE_DGRAM_H

#include "base/error.h"
#include "engine/dgram/dgram_stream.h"
#include "infer/roles.h"
#include "live/live.h"

/* Finds the streams of the trace and plays them. `sides` has bits of enum replay_role: it selects
 * whether the target plays its recorded role as sender, as receiver, or both. `peer` is the name of
 * the profile with the known deviations of the target, or NULL. Returns 0, or -1 and an error. Call
 * dgram_streams_free() in both cases. */
int live_dgram_play(struct live *live, struct dgram_streams *streams, unsigned sides,
                    const char *peer, struct error *error);

/* dgram_to_target_play() plays the streams in which the target receives; dgram_from_target_play()
 * plays those in which it sends. Both omit streams that have a skip reason. Both return 0, or -1
 * and an error. */
int dgram_to_target_play(struct live *live, struct dgram_streams *streams, const char *peer,
                         struct error *error);
int dgram_from_target_play(struct live *live, struct dgram_streams *streams, struct error *error);

#endif
