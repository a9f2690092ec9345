/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pair index: the directions that wait for their other one, in a list for each pair of hosts, the
 * one that sent last first. Private to flow/.
 */
#ifndef FLOW_TABLE_PAIR_INDEX_H
#define FLOW_TABLE_PAIR_INDEX_H

#include "flow/base/state.h"

/* Inserts `side` at the front of its list, or moves it there. */
void roce_pair_index_add(struct roce_flow *flow, struct roce_endpoint *side);

/* Removes `side` if it is in a list. */
void roce_pair_index_remove(struct roce_flow *flow, struct roce_endpoint *side);

/* Returns the first direction that waits between the hosts of `side`, from the other host to its
 * own; the next are its pair_next. */
struct roce_endpoint *roce_pair_candidates(const struct roce_flow *flow,
                                           const struct roce_endpoint *side);

/* Counts a direction of a connected service that is seen for the first time. */
void roce_pair_index_count(struct roce_flow *flow, const struct roce_conn *conn);

/* Returns whether no other directions of connected services were seen between the two hosts. */
bool roce_pair_is_alone(const struct roce_flow *flow, const struct roce_conn *conn);

#endif
