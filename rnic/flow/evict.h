/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Eviction: frees memory before the next packet is judged. During a capture, connections are
 * removed only here or when their QPs are reused. Only roce_flow_feed() calls it, before it has a
 * pointer to any connection. Private to flow/.
 */
#ifndef FLOW_EVICT_H
#define FLOW_EVICT_H

#include "flow/base/state.h"

/* Makes room for `new_conns` connections. If memory is tight, frees memory down to the low-water
 * mark. The connections that were idle longest first lose their windows, then end with closing
 * findings and summary. `keep` is not evicted; it may be NULL. */
void roce_evict(struct roce_flow *flow, const struct roce_conn *keep, unsigned new_conns);

#endif
