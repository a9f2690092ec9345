/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Match: which of our answers a recorded one is held against. All of these look at what ours had
 * sent by the step at hand only, and at the latest COMPARE_RECENT of them.
 */
#ifndef REPLAY_ENGINE_RC_MATCH_H
#define REPLAY_ENGINE_RC_MATCH_H

#include "engine/field_diff.h"
#include "engine/rc_compare_state.h"

/* For qsort() of struct response_by_psn. */
int rc_match_order(const void *a, const void *b);
/* How a recorded answer differs from one of ours. */
void rc_match_fields(const struct response_cmp *cmp, const struct trace_packet *p,
                     const struct tx_response *ours, struct field_diffs *d);
/* An RNR NAK is one too. */
bool rc_match_is_nak(uint8_t opcode, uint8_t syndrome);
/* Of our latest answers at this PSN that were out by now: the one that differs least, later ones
 * before earlier. `same` wants the recorded one's class, `unused` one that no recorded answer has
 * matched. NULL if there is none. */
struct tx_response *rc_match_at(const struct response_cmp *cmp, uint32_t event, bool same,
                                bool unused, struct field_diffs *out);
/* Whatever we answered lately that is most like it, at whatever PSN. */
struct tx_response *rc_match_recent(const struct response_cmp *cmp, uint32_t event,
                                    struct field_diffs *out);
/* Whether all that ours answered with this PSN, and it did, has been matched by other answers. */
bool rc_match_is_used_up(const struct response_cmp *cmp, uint32_t event);
/* Whether the recorded answer stands where one of ours, not matched yet, has another PSN only. */
bool rc_match_has_other_psn(const struct response_cmp *cmp, uint32_t event);
/* What we answered with this PSN to the READ request whose answer the recorded one goes on with, if
 * it is the same; else NULL. */
struct tx_response *rc_match_continued(const struct response_cmp *cmp, uint32_t event);
/* What we answered with this PSN to the READ request that the recorded answer belongs to, unless
 * two recorded answers claim it: then one of them came late, from an earlier copy of the request.
 */
struct tx_response *rc_match_to_request(const struct response_cmp *cmp, uint32_t event,
                                        struct field_diffs *out);

#endif
