/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Runs: what is to be played of a capture: a direction for each direction, or for each stretch of a
 * direction whose requests the capture has with gaps, and the devices that these need.
 */
#ifndef REPLAY_INFER_SPLIT_RUNS_H
#define REPLAY_INFER_SPLIT_RUNS_H

#include "infer/session.h"

/* Adds the directions of a direction to drive->run, derived, and its device. Returns 0, or -1
 * without memory. */
int split_runs_add(struct session *session, const struct recorded_direction *recorded);

#endif
