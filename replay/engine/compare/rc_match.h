/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Match: finds the response of our RNIC with which a recorded response is compared. All functions
 * consider only the latest COMPARE_RECENT responses that our RNIC had sent by the current event. A
 * function that searches one PSN considers the latest COMPARE_RECENT responses of each group with
 * this PSN.
 */
#ifndef REPLAY_ENGINE_COMPARE_RC_MATCH_H
#define REPLAY_ENGINE_COMPARE_RC_MATCH_H

#include "engine/base/field_diff.h"
#include "engine/compare/rc_compare_state.h"

/* Returns the group of a response. */
enum response_group rc_match_group(uint8_t opcode, uint8_t syndrome);
/* Compares two struct response_by_psn, for qsort(). */
int rc_match_order(const void *a, const void *b);
/* Sets *d to the differences between a recorded response and a response of our RNIC. */
void rc_match_fields(const struct response_cmp *cmp, const struct trace_packet *p,
                     const struct tx_response *ours, struct field_diffs *d);
/* Returns the response of our RNIC with the PSN of the recorded response and the fewest
 * differences, or NULL. Prefers later responses. `same`: considers only responses of the same
 * group. `unused`: considers only responses that are not matched yet. If our RNIC sent very many
 * responses, also considers the latest of them with an MSN of at most the recorded MSN. */
struct tx_response *rc_match_at(const struct response_cmp *cmp, uint32_t event, bool same,
                                bool unused, struct field_diffs *out);
/* Returns the response of our RNIC, at any PSN, that has the fewest differences from the recorded
 * response. Returns NULL if there is none. */
struct tx_response *rc_match_recent(const struct response_cmp *cmp, uint32_t event,
                                    struct field_diffs *out);
/* Returns whether our RNIC sent responses with the PSN of the recorded response, and all of these
 * are matched with other recorded responses. */
bool rc_match_is_used_up(const struct response_cmp *cmp, uint32_t event);
/* Returns whether a response that was recorded after `event` equals our response `a`. */
bool rc_match_comes_later(const struct response_cmp *cmp, uint32_t event,
                          const struct tx_response *a);
/* Returns whether an unmatched response of our RNIC differs from the recorded one in the PSN only.
 */
bool rc_match_has_other_psn(const struct response_cmp *cmp, uint32_t event);
/* Finds the READ to which the previous recorded response belongs. If the next response of our RNIC
 * to this READ equals the recorded response `event`, returns this response of our RNIC. Otherwise
 * returns NULL. */
struct tx_response *rc_match_continued(const struct response_cmp *cmp, uint32_t event);
/* Returns our response to the READ request that the recorded response answers. Returns NULL if two
 * recorded responses with this PSN seem to answer that request: one of them is late and answers an
 * earlier copy. */
struct tx_response *rc_match_to_request(const struct response_cmp *cmp, uint32_t event,
                                        struct field_diffs *out);

#endif
