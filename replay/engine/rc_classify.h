/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Settle: what becomes of a recorded answer once it has been held against one of ours: it holds, or
 * it differs, is a known deviation of the peer, or is in doubt for what the capture lacks.
 */
#ifndef REPLAY_ENGINE_RC_CLASSIFY_H
#define REPLAY_ENGINE_RC_CLASSIFY_H

#include "engine/field_diff.h"
#include "engine/rc_compare_state.h"

/* The difference of a recorded answer that nothing of ours is like. */
void diff_no_response(const struct response_cmp *cmp, uint32_t event, struct field_diffs *d);
/* Names the remote write that our RNIC took the contradicted bytes from. */
void name_writer(const struct response_cmp *cmp, uint32_t event, uint32_t off, char *buf,
                 size_t cap);
/*
 * The recorded answer of a step, held against `ours` (NULL: none), differs in `d`, or holds if that
 * is empty. `reason`: why it would not do, one sentence. 0, or -1 without memory.
 */
int classify_diff(struct response_cmp *cmp, uint32_t event, struct tx_response *ours,
                  struct field_diffs *d, const char *reason);

#endif
