/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Execution: decides whether any conformant responder can have sent all recorded responses of a
 * direction. A capture does not show which of its requests arrived at the responder, and in which
 * order. Here each captured copy of a request may have arrived late, in another order, or not at
 * all. rc_compare_responses.c asks only if responses differ from those of our RNIC, which receives
 * all requests in the captured order.
 *
 * The responses are examined in the order sent. Each response restricts how many requests the
 * responder had executed when it sent the response. This number never decreases, and no request can
 * be executed before a copy of it, and of all earlier requests, was sent. A NAK, a READ response,
 * an Atomic ACK, and an ACK of a duplicate also need a captured request that caused them. The
 * responses are possible if numbers exist that satisfy all responses.
 */
#ifndef REPLAY_ENGINE_REASONS_RC_EXECUTION_H
#define REPLAY_ENGINE_REASONS_RC_EXECUTION_H

#include "engine/reasons/rc_response_case.h"

/* Finds the first response that no conformant responder can have sent after the responses before
 * it. Sets *impossible to its index in setup.event, or to EVENT_NONE if there is none. Ignores
 * responses whose `mark` (enum event_mark) is MARK_KNOWN or MARK_NOTE. `rxe`: the responder is
 * known to be Linux rxe. `reorders`: the network reorders responses. Returns 0, or -1 if out of
 * memory. */
int rc_execution_find(const struct inferred_setup *s, const uint8_t *mark, bool rxe, bool reorders,
                      uint32_t *impossible);

#endif
