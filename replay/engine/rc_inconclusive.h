/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Inconclusive: decides whether a difference may result from packets that were not captured. A
 * capture may begin late, end early or lack frames. A recorded response that differs from ours may
 * then answer a request that was not captured. Such a difference is inconclusive and does not fail
 * the replay.
 *
 * The packets show whether a response was altered or answers a missing request. An altered response
 * has a PSN and an MSN that disagree, and the capture lacks the correct response. A response to a
 * missing request has a PSN and an MSN that agree, and the capture contains the responses to all
 * other requests, or other packets show the loss.
 */
#ifndef REPLAY_ENGINE_RC_INCONCLUSIVE_H
#define REPLAY_ENGINE_RC_INCONCLUSIVE_H

#include "engine/peer_quirks.h"

/* Returns the reason why a difference is inconclusive, as the end of a sentence that begins with
 * "the capture". Returns NULL if missing packets do not explain the difference. Sets *lacks if
 * missing packets may also explain further differences of the direction. */
const char *inconclusive_reason(const struct response_case *c, bool *lacks);

/* Returns whether a response may answer a request that was not captured. The PSN of such a request
 * is after `high`, the last captured one, or in a gap before `high`. Examples are a NAK of the next
 * message, and an ACK whose MSN and PSN count more messages than were captured. */
bool answers_uncaptured_request(const struct inferred_setup *s, uint32_t event, int64_t high);

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

#endif
