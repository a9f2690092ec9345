/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pair index: lists of the unpaired directions. The opposite direction of an unpaired direction is
 * not known yet. Each list has the directions from one host to another; the most recent sender is
 * first. Used only in rnic/flow.
 */
#ifndef FLOW_TABLE_PAIR_INDEX_H
#define FLOW_TABLE_PAIR_INDEX_H

#include "flow/base/state.h"

/* Inserts `side` at the front of its list of unpaired directions, or moves it there. */
void roce_pair_index_add(struct roce_flow *flow, struct roce_endpoint *side);

/* Removes `side` from its list of unpaired directions, if it is in one. */
void roce_pair_index_remove(struct roce_flow *flow, struct roce_endpoint *side);

/* Returns the first unpaired direction from the peer host of `side` to the host of `side`, or NULL.
 * Follow pair_next for the other directions. The list may also contain directions of other hosts,
 * if their addresses have the same hash. */
struct roce_endpoint *roce_pair_candidates(const struct roce_flow *flow,
                                           const struct roce_endpoint *side);

/* Increments the number of connections from the host of conn->side[0] to the host of conn->side[1],
 * for roce_pair_is_alone(). The caller calls this function once for each new connection of a
 * connected service. */
void roce_pair_index_count(struct roce_flow *flow, const struct roce_conn *conn);

/* Returns whether the capture has no other connection of a connected service between the two hosts
 * of `conn`. */
bool roce_pair_is_alone(const struct roce_flow *flow, const struct roce_conn *conn);

/* Returns the group (0 to ROCE_FLOW_GROUPS - 1) of the two hosts of a key. The order of the hosts
 * does not matter. */
uint32_t roce_pair_group(const struct roce_key *key);

/* Returns the part (struct roce_flow) that judges the packets between the two hosts of a key. A
 * part other than the caller's may be used only while no packet is judged in it. */
struct roce_flow *roce_pair_part(struct roce_flow *flow, const struct roce_key *key);

#endif
