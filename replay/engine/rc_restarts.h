/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Asked: what the recorded requester did, as the capture shows it: where it went back, and what
 * became of the answers.
 */
#ifndef REPLAY_ENGINE_RC_RESTARTS_H
#define REPLAY_ENGINE_RC_RESTARTS_H

#include "engine/rc_requester.h"

/* Fills in asker.restart, .fate and .doubt_step. `first` has room for a step for each PSN of the
 * works, all of them STEP_NONE. */
void asked_read(struct asker *asker, uint32_t *first);

/* Whether the recorded requester began a message for which the answers captured by then tell of no
 * receive WQE (R134, R135): they were still on their way to it. */
bool asked_beyond_credits(const struct asker *asker);

#endif
