/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Inconclusive: decides whether a difference may result from packets that were not captured. A
 * capture begins late, ends early or lacks frames. A recorded response that differs from ours may
 * then answer a request that was not captured. Such a difference is inconclusive and does not fail
 * the replay.
 *
 * The packets show which case applies. An altered response replaces the right one, which is then
 * missing from the capture. The PSN and the MSN of an altered response disagree. A response to a
 * request that was not captured has a consistent PSN and MSN. Such a response is additional to all
 * responses of our RNIC, or other signs show the loss.
 */
#ifndef REPLAY_ENGINE_RC_INCONCLUSIVE_H
#define REPLAY_ENGINE_RC_INCONCLUSIVE_H

#include "engine/peer_quirks.h"

/* Returns the reason why a difference is inconclusive, in words that follow "the capture".
 * Returns NULL if the difference is real. Sets *lacks if packets are missing that may explain
 * further differences of the direction. */
const char *inconclusive_reason(const struct response_case *c, bool *lacks);

/* Returns whether a response may answer a request that was not captured. Such a request has a
 * PSN after `high`, the last captured one, or in a gap before `high`. Examples are a NAK of the
 * next message, or an ACK whose MSN and PSN count more messages than were captured. */
bool answers_uncaptured_request(const struct inferred_setup *s, uint32_t event, int64_t high);

#endif
