/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Restarts: infers where the recorded requester went back to an earlier PSN, and which responses
 * reached the requester.
 */
#ifndef REPLAY_ENGINE_PLAY_RC_RESTARTS_H
#define REPLAY_ENGINE_PLAY_RC_RESTARTS_H

#include "engine/play/rc_requester.h"

/* Sets `retransmit`, `outcome` and `unsure_from` of *run. `first` and `marked` have one element for
 * each PSN of the work requests, all EVENT_NONE at the call. Sets each element of `first` to the
 * first event that requests the PSN. `marked` is scratch memory. */
void classify_retransmissions(struct requester_run *run, uint32_t *first, uint32_t *marked);

/* Returns whether the recorded requester began a message beyond the credits of the responses
 * captured before (R134, R135). This is possible if the response that limits the credits had passed
 * the capture point, but had not yet reached the requester. */
bool exceeds_credits(const struct requester_run *run);

#endif
