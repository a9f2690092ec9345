/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Inconclusive: decides whether a difference may result from packets that were not captured. A
 * capture may begin late, end early or lack frames. A recorded response that differs from ours may
 * then answer a request that was not captured. Such a difference is inconclusive and does not fail
 * the replay.
 *
 * The packets show whether a response was altered or answers a missing request. An altered response
 * has a PSN and an MSN that disagree, and the capture lacks the correct response. The PSN
 * and the MSN of a response to a missing request agree. In addition, the capture contains the
 * responses to all other requests, or other packets show the loss. rc_contradiction.h recognizes
 * altered responses; rc_reasons.h lists the reasons that explain responses to missing requests.
 */
#ifndef REPLAY_ENGINE_REASONS_RC_INCONCLUSIVE_H
#define REPLAY_ENGINE_REASONS_RC_INCONCLUSIVE_H

#include <stdbool.h>
#include <stdint.h>

struct response_case;

/* Returns the reason why a difference is inconclusive, as the end of a sentence that begins with
 * "the capture". Returns NULL if missing packets do not explain the difference. Sets *lacks to true
 * if missing packets may also explain further differences of the direction. */
const char *inconclusive_reason(const struct response_case *c, bool *lacks);

/* Number of inconclusive responses with one reason. */
struct inconclusive_reason {
    const char *why; /* a reason that inconclusive_reason() returns; NULL if `responses` is 0 */
    uint32_t responses;
};
#define INCONCLUSIVE_REASONS 16u /* maximum number of reasons */

/* Adds `responses` to the count of reason `why` in a list of INCONCLUSIVE_REASONS elements. If the
 * list is full, the last element counts all further reasons. */
void inconclusive_reason_add(struct inconclusive_reason *list, const char *why, uint32_t responses);

#endif
