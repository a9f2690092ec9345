/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Missing responses: finds READ responses and Atomic ACKs that the recorded requester received but
 * the capture lacks. A requester retransmits a READ or atomic until it has all responses. So if a
 * later response arrives and the requester does not retransmit, it had received the missing one.
 *
 * rc_requester.c calls missing_responses_find() before the replay, and missing_response_inject()
 * during it. Our RNIC then receives the data of an earlier response, or zeros, and completes the
 * same work requests as the recorded requester.
 */
#ifndef REPLAY_ENGINE_RC_MISSING_RESPONSES_H
#define REPLAY_ENGINE_RC_MISSING_RESPONSES_H

#include "engine/rc_requester.h"

/* Finds the missing responses of a direction after classify_retransmissions(). Returns 0, or -1 if
 * out of memory. */
int missing_responses_find(struct requester_run *run);

/* Passes a missing response to our RNIC. */
void missing_response_inject(const struct requester_run *run,
                             const struct missing_response *missing, struct rnic *rnic,
                             rnic_time now);

#endif
