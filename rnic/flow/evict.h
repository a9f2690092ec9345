/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Eviction: frees memory before the next packet is judged. During a capture, a connection is
 * removed only here, or when its QPs are reused. Only roce_flow_feed() calls this function, before
 * it uses a pointer to a connection. Private to flow/.
 */
#ifndef FLOW_EVICT_H
#define FLOW_EVICT_H

#include "flow/base/state.h"

/* Makes room for `new_conns` connections. If memory is tight, frees memory down to the low-water
 * mark. The connections with the longest idle time first lose their windows; then they end with
 * closing findings and a summary. Connection `keep`, which may be NULL, is not evicted. */
void roce_evict(struct roce_flow *flow, const struct roce_conn *keep, unsigned new_conns);

#endif
