/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Damage: which packets of a direction a wrong ICRC or form took from their receiver. A conformant
 * one drops them, so that what was in them has to be requested again, unless a later packet brought
 * it too. Where that never happened, the requester must have taken the damaged answer for good.
 */
#ifndef REPLAY_INFER_INFER_CORRUPTION_H
#define REPLAY_INFER_INFER_CORRUPTION_H

#include "infer/infer_setup.h"

/* Fills in step.usable, and what setup counts of repetitions and damage: the only damaged packet of
 * a connection is usable if it is a response and nothing was retransmitted after it. */
void infer_corruption(struct inferred_setup *setup);

/* Takes that back where the other responses leave nothing to request: the requester could do
 * without it. The path MTU must be there. False without memory. */
bool infer_corruption_excuse(struct inferred_setup *setup);

/* Returns whether the request at `gap` is there, but damaged, and the requester never sent anything
 * again after that: then no copy is missing, and the comparison says what is wrong. */
bool infer_corruption_hides(const struct inferred_setup *setup, int64_t gap);

#endif
