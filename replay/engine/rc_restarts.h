/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Asked: what the recorded requester did, as the capture shows it: where it went back, and what
 * became of the responses.
 */
#ifndef REPLAY_ENGINE_RC_RESTARTS_H
#define REPLAY_ENGINE_RC_RESTARTS_H

#include "engine/rc_requester.h"

/* Fills in asker.restart, .fate and .doubt_step. `first` has room for an event for each PSN of the
 * works, all of them EVENT_NONE. */
void classify_retransmissions(struct requester_run *run, uint32_t *first);

/* Returns whether the recorded requester began a message for which the responses captured by then
 * tell of no receive WQE (R134, R135): they were still on their way to it. */
bool exceeds_credits(const struct requester_run *run);

#endif
