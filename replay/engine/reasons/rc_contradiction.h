/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Contradiction: decides whether other captured packets prove that a recorded response is wrong.
 * Packets that the capture lacks then do not explain its differences.
 */
#ifndef REPLAY_ENGINE_REASONS_RC_CONTRADICTION_H
#define REPLAY_ENGINE_REASONS_RC_CONTRADICTION_H

#include "engine/base/field_diff.h"
#include "engine/reasons/rc_response_case.h"

/* Returns whether response `event` is a fatal NAK of a request that a later response shows as
 * executed. Such a NAK is wrong, because a fatal NAK ends the QP. */
bool refuses_executed(const struct inferred_setup *s, uint32_t event);

/* Returns whether response `event` is a sequence NAK that repeats an earlier sequence NAK of the
 * same PSN, which R068 forbids. After the NAKed request arrives, the responder expects the next
 * PSN. Returns false if the network duplicated the first NAK, or if the responder may have sent an
 * RNR NAK in between that was lost. If the responder does not number its packets, also returns
 * false if a copy of the request was captured in between. `reorders`: the network certainly
 * reorders packets. */
bool repeats_sequence_nak(const struct inferred_setup *s, uint32_t event, bool reorders);

/* Returns whether the PSN of an ACK or NAK contradicts its MSN, which must be the number of
 * messages up to the PSN. Returns false if missing packets of the direction explain the
 * difference. */
bool contradicts_msn(const struct inferred_setup *s, uint32_t event);

/* Returns whether missing packets can never explain the differences `d` of a response. */
bool never_inconclusive(const struct response_case *c, const struct field_diffs *d);

/* Returns whether only this response shows that the responder executed a request which a later
 * response refuses. A responder refuses a request at its first arrival, never at a retransmission
 * (R117). So no missing packet explains both responses. If other responses also show the execution,
 * the later refusal is wrong, not this response. */
bool is_refused_later(const struct response_case *c);

#endif
