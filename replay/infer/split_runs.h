/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Split runs: adds a recorded direction to a session, together with its responder host. The
 * session receives either the whole direction or each of its stretches without a gap
 * (split_at_gap.h).
 */
#ifndef REPLAY_INFER_SPLIT_RUNS_H
#define REPLAY_INFER_SPLIT_RUNS_H

#include "infer/session.h"

/* Adds a recorded direction, or its stretches, to session->dir, infers their setups, and adds the
 * responder host to session->host. Returns 0, or -1 if out of memory. */
int split_runs_add(struct session *session, const struct recorded_direction *recorded);

/* Frees the setups of a direction, and its stretch (split_at_gap.h). */
void split_runs_free(struct rc_direction *dir);

#endif
