/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Inconclusive: decides whether a difference may come from packets that were not captured. A
 * capture begins late, ends early or drops frames, so a recorded response that differs from ours
 * may belong to a request that was not captured. Such a difference is counted as inconclusive and
 * does not fail the replay.
 *
 * The packets tell the cases apart. An altered response replaces the right one, which is then
 * missing, and contradicts itself: its PSN and its MSN disagree. A response to a request that was
 * not captured is consistent, and comes in addition to all responses of ours, or there are other
 * signs of the loss.
 */
#ifndef REPLAY_ENGINE_RC_INCONCLUSIVE_H
#define REPLAY_ENGINE_RC_INCONCLUSIVE_H

#include "engine/peer_quirks.h"

/* Returns the reason why a difference is inconclusive, worded to follow "the capture", or NULL
 * if it is a real difference. */
const char *inconclusive_reason(const struct response_case *c);

/* Returns whether a response may answer a request that was not captured: one after PSN `high`,
 * the last captured one, or one in a gap before it. Examples are a NAK of the next message, or
 * an ACK whose MSN and PSN count more messages than were captured. */
bool answers_uncaptured_request(const struct inferred_setup *s, uint32_t event, int64_t high);

#endif
