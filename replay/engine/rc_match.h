/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Match: which of our answers a recorded one is held against. All of these look at what ours had
 * sent by the step at hand only, and at the latest COMPARE_RECENT of them.
 */
#ifndef REPLAY_ENGINE_RC_MATCH_H
#define REPLAY_ENGINE_RC_MATCH_H

#include "engine/field_diff.h"
#include "engine/rc_compare_state.h"

/* For qsort() of struct by_rel. */
int match_order(const void *a, const void *b);
/* How a recorded answer differs from one of ours. */
void match_fields(const struct view *v, const struct trace_packet *p, const struct answer *ours,
                  struct field_diffs *d);
/* An RNR NAK is one too. */
bool match_is_nak(uint8_t opcode, uint8_t syndrome);
/* Of our latest answers at this PSN that were out by now: the one that differs least, later ones
 * before earlier. `same` wants the recorded one's class, `unused` one that no recorded answer has
 * matched. NULL if there is none. */
struct answer *match_at(const struct view *v, uint32_t step, bool same, bool unused,
                        struct field_diffs *out);
/* Whatever we answered lately that is most like it, at whatever PSN. */
struct answer *match_recent(const struct view *v, uint32_t step, struct field_diffs *out);
/* Whether all that ours answered with this PSN, and it did, has been matched by other answers. */
bool match_is_used_up(const struct view *v, uint32_t step);
/* Whether the recorded answer stands where one of ours, not matched yet, has another PSN only. */
bool match_has_other_psn(const struct view *v, uint32_t step);
/* What we answered with this PSN to the READ request whose answer the recorded one goes on with, if
 * it is the same; else NULL. */
struct answer *match_continued(const struct view *v, uint32_t step);
/* What we answered with this PSN to the READ request that the recorded answer belongs to, unless
 * two recorded answers claim it: then one of them came late, from an earlier copy of the request.
 */
struct answer *match_to_request(const struct view *v, uint32_t step, struct field_diffs *out);

#endif
