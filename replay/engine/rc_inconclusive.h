/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Doubt: whether a difference may be the capture's fault. A capture lacks frames: it begins late,
 * ends early, drops some. A recorded answer that differs from ours then need not be wrong: it may
 * answer a request that was not captured. Such a difference is counted as inconclusive and does not
 * fail the run.
 *
 * What is firm is told from the packets. An answer that was altered stands in the place of a right
 * one, which is missing then, and contradicts itself: its PSN says one thing, its MSN another. An
 * answer to a request that the capture lacks agrees with itself and comes on top of all that ours
 * gave, or leaves other signs of the loss.
 */
#ifndef REPLAY_ENGINE_RC_INCONCLUSIVE_H
#define REPLAY_ENGINE_RC_INCONCLUSIVE_H

#include "engine/peer_quirks.h"

/* Why the difference is not firm, in words that follow "the capture"; or NULL. */
const char *inconclusive_reason(const struct response_case *c);

/* Whether an answer may be to a request after PSN `high`, the last captured one, or to one in a
 * hole of the capture, of which requests behind it were captured before this answer or together
 * with it: a NAK of the next message, or one that counts more messages than were captured, as its
 * PSN does. */
bool answers_uncaptured_request(const struct inferred_setup *s, uint32_t event, int64_t high);

#endif
