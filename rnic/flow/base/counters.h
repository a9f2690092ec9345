/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Counters: what an endpoint counts. Counts that most endpoints never need are allocated with the
 * first of them; without memory they are counted nowhere. Private to flow/.
 */
#ifndef FLOW_BASE_COUNTERS_H
#define FLOW_BASE_COUNTERS_H

#include "flow/base/state.h"

/* Returns the cold counters of `side` to read; all zero if there are none. */
const struct roce_cold_counters *roce_cold_of(const struct roce_endpoint *side);

/* Returns the cold counters of `side` to count in; never NULL. */
struct roce_cold_counters *roce_cold(struct roce_flow *flow, struct roce_endpoint *side);

/* Returns the counts of an operation of `side`; never NULL. */
struct roce_oper_count *roce_oper_cnt(struct roce_flow *flow, struct roce_endpoint *side,
                                      enum roce_oper oper);

/* Adds the latency of an operation, or a round trip, to the histograms of `side`. */
void roce_count_latency(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                        uint64_t ns);
void roce_count_rtt(struct roce_ctx *ctx, struct roce_endpoint *side, uint64_t ns);

/* Adds a request for `len` bytes at `va` to the memory region with this key. */
void roce_count_region(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                       uint32_t rkey, uint64_t va, uint64_t len);

#endif
