/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop of one RC direction: plays the direction from its first work request until no event
 * is left. closed_loop.c calls rc_loop_play().
 */
#ifndef REPLAY_SIM_RC_LOOP_H
#define REPLAY_SIM_RC_LOOP_H

#include "sim/closed_loop.h"
#include "sim/sim_pcap.h"

/* Plays the direction conn->run on `memory`. The regions of `memory` are not registered before the
 * call and after it. Returns 0, with a reason in *why if our RNICs cannot be set up, or -1 if out
 * of memory. */
int rc_loop_play(struct rc_loop_result *conn, const struct closed_loop_sides *ends, uint32_t number,
                 struct shadow_memory *memory, struct impair *impair, struct sim_pcap *pcap,
                 const char **why);

#endif
