/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * One connection of a closed loop (closed.h), from its first work request until nothing happens any
 * more.
 */
#ifndef REPLAY_SIM_RC_LOOP_H
#define REPLAY_SIM_RC_LOOP_H

#include "sim/closed_loop.h"
#include "sim/sim_pcap.h"

/* Plays conn->run, with our RNIC at the ends that `ends` names, on `memory`, whose regions are not
 * registered before and after. 0, with *why set if our RNICs cannot be set up like this, or -1
 * without memory. */
int rc_loop_play(struct rc_loop_result *conn, const struct closed_loop_sides *ends, uint32_t number,
                 struct shadow_memory *memory, struct impair *impair, struct sim_pcap *pcap,
                 const char **why);

#endif
