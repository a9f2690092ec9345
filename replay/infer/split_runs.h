/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Split runs: adds to a session what is played of a recorded direction: all of it, or each stretch
 * without a gap (split_at_gap.h), and the responder host that it needs.
 */
#ifndef REPLAY_INFER_SPLIT_RUNS_H
#define REPLAY_INFER_SPLIT_RUNS_H

#include "infer/session.h"

/* Adds the directions of a direction to drive->run, derived, and its device. Returns 0, or -1
 * without memory. */
int split_runs_add(struct session *session, const struct recorded_direction *recorded);

#endif
