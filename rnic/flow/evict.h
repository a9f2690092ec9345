/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Eviction: makes room for the next packet. It is the one place where connections leave before the
 * capture ends or their QPs are reused. roce_flow_feed() calls it before it judges a packet, so
 * that nothing else holds a pointer to what goes. Private to flow/.
 */
#ifndef FLOW_EVICT_H
#define FLOW_EVICT_H

#include "flow/base/state.h"

/*
 * Makes room for `new_conns` connections and, where memory is tight, down to the low-water mark:
 * first the windows of the connections that were silent longest go, then these connections, each
 * with its findings and its summary. `keep` stays; it may be NULL.
 */
void roce_evict(struct roce_flow *flow, const struct roce_conn *keep, unsigned new_conns);

#endif
