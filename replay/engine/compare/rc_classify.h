/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Classify: decides the result for a recorded response after its comparison with a response of
 * our RNIC. The response matches, differs, shows a known quirk of the peer, or is inconclusive
 * because packets were not captured.
 */
#ifndef REPLAY_ENGINE_COMPARE_RC_CLASSIFY_H
#define REPLAY_ENGINE_COMPARE_RC_CLASSIFY_H

#include "engine/base/field_diff.h"
#include "engine/compare/rc_compare_state.h"

/* Sets *d to the differences of a recorded response that resembles no response of our RNIC. */
void diff_no_response(const struct response_cmp *cmp, uint32_t event, struct field_diffs *d);
/* Writes to `buf` which WRITE stored the bytes of our response that differ from the recorded ones.
 */
void name_writer(const struct response_cmp *cmp, uint32_t event, uint32_t off, char *buf,
                 size_t cap);
/* Stores the result of comparing the recorded response with index `event` in setup.event. If *d is
 * empty, the response matches. Otherwise *d has its differences from `ours`, the most similar
 * response of our RNIC, or NULL if no response is similar. `reason` explains the difference in one
 * sentence. Returns 0, or -1 if out of memory. */
int classify_diff(struct response_cmp *cmp, uint32_t event, struct tx_response *ours,
                  struct field_diffs *d, const char *reason);

#endif
