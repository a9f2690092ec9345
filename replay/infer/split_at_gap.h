/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Split at gap: a stretch is a part of a direction whose requests were captured without a gap.
 * After a request that was executed but not captured, nothing is certain until a new message
 * begins. The rest is then replayed like a capture that starts there, so one lost frame costs one
 * message, not the connection.
 */
#ifndef REPLAY_INFER_SPLIT_AT_GAP_H
#define REPLAY_INFER_SPLIT_AT_GAP_H

#include "infer/infer_setup.h"

/* A side that lacks more requests than this is given up after so many stretches: each is derived
 * and played again. */
#define STRETCHES_MAX 64u

/* Parts the direction of `setup` at its setup.gap. *head receives what comes before, *rest what
 * comes from the next message on; either may turn out empty (cnt 0), and never both together hold
 * more than the direction. Returns 0, or -1 without memory; recorded_direction_free() is to be
 * called for both in any case.
 */
int split_at_gap(const struct inferred_setup *setup, struct recorded_direction *head,
                 struct recorded_direction *rest);

#endif
