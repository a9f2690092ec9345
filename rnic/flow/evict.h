/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Eviction: ends idle connections to free memory. During a capture, a connection is removed only by
 * roce_evict(), or when its QPs are reused. Only roce_flow_feed() calls roce_evict(), before it
 * uses a pointer to a connection. Used only in rnic/flow.
 */
#ifndef FLOW_EVICT_H
#define FLOW_EVICT_H

#include "flow/base/state.h"

/* Frees memory before a packet is judged. Ends the connections with the longest idle time, until
 * the connection limit allows `new_conns` more. If memory is short, also frees memory down to
 * roce_mem_low_water(). For this, visits the connections from the longest idle one on: drops the
 * request windows of a connection, or ends the connection if it has no window. Connection `keep`,
 * which may be NULL, is not changed. */
void roce_evict(struct roce_flow *flow, const struct roce_conn *keep, unsigned new_conns);

#endif
