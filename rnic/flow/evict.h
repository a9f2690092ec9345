/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Eviction: makes room for the next packet. Connections leave only here before the capture ends or
 * their QPs are reused. roce_flow_feed() calls it before it judges a packet, so that nothing else
 * holds a pointer to what is freed. Private to flow/.
 */
#ifndef FLOW_EVICT_H
#define FLOW_EVICT_H

#include "flow/base/state.h"

/* Makes room for `new_conns` connections and, if memory is tight, down to the low-water mark. The
 * connections that were silent longest first lose their windows, then leave with their closing
 * findings and summary. `keep` stays; it may be NULL. */
void roce_evict(struct roce_flow *flow, const struct roce_conn *keep, unsigned new_conns);

#endif
