/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Contradiction: decides whether other captured packets prove that a recorded response is wrong.
 * Packets that the capture lacks then do not explain its differences.
 */
#ifndef REPLAY_ENGINE_RC_CONTRADICTION_H
#define REPLAY_ENGINE_RC_CONTRADICTION_H

#include "engine/field_diff.h"
#include "engine/rc_response_case.h"

/* Returns whether response `event` is a fatal NAK of a request that a later response shows as
 * executed. The NAK would have ended the QP. */
bool refuses_executed(const struct inferred_setup *s, uint32_t event);

/* Returns whether another response proves this one wrong, because the IPv4 identifications show in
 * which order the responder sent both. The MSN of a responder never decreases, nor does the PSN of
 * its ACKs. A sequence NAK has the expected PSN, and no earlier response shows a request from there
 * as executed. */
bool contradicts_order(const struct inferred_setup *s, uint32_t event);

/* Returns whether the MSN of an ACK or NAK does not count the messages up to its PSN. Other missing
 * packets of the direction do not explain that. */
bool contradicts_msn(const struct inferred_setup *s, uint32_t event);

/* Returns whether no packet that the capture lacks explains the differences `d` of a response. */
bool never_inconclusive(const struct response_case *c, const struct field_diffs *d);

/* Returns whether only this response shows that the responder executed a request which a later
 * response refuses. A responder refuses a request at its first arrival, never at a retransmission
 * (R117). So no missing packet explains both responses. If other responses show the execution too,
 * the later refusal is wrong, and not this response. */
bool is_refused_later(const struct response_case *c);

#endif
