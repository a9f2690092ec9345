/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pair index: the directions of traffic whose opposite direction is not known yet. Each pair of
 * hosts has a list; the direction that sent most recently is first. Private to flow/.
 */
#ifndef FLOW_TABLE_PAIR_INDEX_H
#define FLOW_TABLE_PAIR_INDEX_H

#include "flow/base/state.h"

/* Inserts `side` at the front of its list of unpaired directions, or moves it there. */
void roce_pair_index_add(struct roce_flow *flow, struct roce_endpoint *side);

/* Removes `side` from its list of unpaired directions, if it is in one. */
void roce_pair_index_remove(struct roce_flow *flow, struct roce_endpoint *side);

/* Returns the first unpaired direction from the peer host of `side` to the host of `side`;
 * pair_next links the others. */
struct roce_endpoint *roce_pair_candidates(const struct roce_flow *flow,
                                           const struct roce_endpoint *side);

/* Counts a newly captured direction of a connected service. */
void roce_pair_index_count(struct roce_flow *flow, const struct roce_conn *conn);

/* Returns whether no other connected-service direction between the two hosts was captured. */
bool roce_pair_is_alone(const struct roce_flow *flow, const struct roce_conn *conn);

/* Returns the group of the two hosts of a key, in any order. */
uint32_t roce_pair_group(const struct roce_key *key);

/* Returns the flow that judges the packets between the two hosts of a key. Another flow may be used
 * only while it judges no packet. */
struct roce_flow *roce_pair_part(struct roce_flow *flow, const struct roce_key *key);

#endif
