/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Live replay of a capture: calls the functions of live.h, live_dgram.h and cm_peer.h that the
 * options select. */
#ifndef REPLAY_LIVE_LIVE_REPLAY_H
#define REPLAY_LIVE_LIVE_REPLAY_H

#include "base/error.h"
#include "engine/replay.h"

struct live_options;

/* Replays a capture against a live target. Returns 0, or -1 and an error, for example if the
 * program was built without the live port. Call replay_free() in both cases. */
int live_replay(struct replay *replay, const char *path, const struct replay_options *options,
                const struct live_options *target, struct error *error);

#endif
