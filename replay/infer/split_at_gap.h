/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Split at gap: divides a direction into stretches. A stretch is a part of the direction whose
 * requests were captured without a gap. A gap is a request that was executed but not captured.
 * After a gap, PSNs and lengths are uncertain up to the start of the next message. The packets from
 * that message on are replayed like a capture that starts there. So one lost frame costs one
 * message, not the whole connection.
 */
#ifndef REPLAY_INFER_SPLIT_AT_GAP_H
#define REPLAY_INFER_SPLIT_AT_GAP_H

#include "infer/infer_setup.h"

/* Limit of the splits of one direction. The setup of each stretch is inferred separately, so a
 * capture with more gaps would need too much time. */
#define STRETCHES_MAX 64u

/* Splits the direction of `setup` at setup.gap. *head receives the packets before the gap, and
 * *rest those from the next message on. Either part may be empty (cnt 0). If the direction already
 * begins after a gap and *rest would be the whole direction again, both parts are empty. Returns 0,
 * or -1 if out of memory. Call recorded_direction_free() for both parts in either case. */
int split_at_gap(const struct inferred_setup *setup, struct recorded_direction *head,
                 struct recorded_direction *rest);

#endif
