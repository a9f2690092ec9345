/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live replay: replay_run() for a target that is not our RNIC, see live.h.
 */
#ifndef REPLAY_LIVE_LIVE_REPLAY_H
#define REPLAY_LIVE_LIVE_REPLAY_H

#include "base/error.h"
#include "engine/replay.h"

/* Of a replay whose connections are found. 0, or -1 and an error: also if this program was built
 * without the live port. */
int live_replay(struct replay *replay, const struct replay_options *options, struct error *error);

#endif
