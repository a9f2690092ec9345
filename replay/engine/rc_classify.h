/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Classify: the result for a recorded response after the comparison with one of ours. It matches,
 * differs, is a known quirk of the peer, or is inconclusive because packets were not captured.
 */
#ifndef REPLAY_ENGINE_RC_CLASSIFY_H
#define REPLAY_ENGINE_RC_CLASSIFY_H

#include "engine/field_diff.h"
#include "engine/rc_compare_state.h"

/* Sets *d to the difference of a recorded response that no response of ours resembles. */
void diff_no_response(const struct response_cmp *cmp, uint32_t event, struct field_diffs *d);
/* Writes to `buf` which recorded WRITE stored the bytes that our RNIC returned and the recorded
 * response contradicts. */
void name_writer(const struct response_cmp *cmp, uint32_t event, uint32_t off, char *buf,
                 size_t cap);
/*
 * Notes the result for the recorded response of an event: it differs from `ours` (or NULL) in *d,
 * or matches if *d is empty. `reason` is one sentence about the difference. Returns 0, or -1
 * without memory.
 */
int classify_diff(struct response_cmp *cmp, uint32_t event, struct tx_response *ours,
                  struct field_diffs *d, const char *reason);

#endif
