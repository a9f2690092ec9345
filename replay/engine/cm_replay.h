/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Exchange, play: our CM in place of one end of one exchange.
 */
#ifndef REPLAY_ENGINE_CM_REPLAY_H
#define REPLAY_ENGINE_CM_REPLAY_H

#include "engine/cm_exchange.h"

/* 0, or -1 without memory. */
int cm_replay_end(struct cm_exchanges *xs, uint32_t idx, enum cm_role role);

#endif
