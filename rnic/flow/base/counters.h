/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Counters of an endpoint. Rarely used counters are allocated when one of them is counted for the
 * first time. If the allocation fails, the count is lost. Used only in rnic/flow.
 */
#ifndef FLOW_BASE_COUNTERS_H
#define FLOW_BASE_COUNTERS_H

#include "flow/base/state.h"

/* Returns the rarely used counters of `side`, which the caller must not change; all zero if `side`
 * has none yet. */
const struct roce_cold_counters *roce_cold_of(const struct roce_endpoint *side);

/* Returns the rarely used counters of `side`, which the caller may increment. Allocates them if
 * necessary. Never returns NULL: if memory is exhausted, returns dummy counters. */
struct roce_cold_counters *roce_cold(struct roce_flow *flow, struct roce_endpoint *side);

/* Returns the counters of operation `oper` of `side`, which the caller may increment. Never returns
 * NULL: if memory is exhausted, returns dummy counters. */
struct roce_oper_count *roce_oper_cnt(struct roce_flow *flow, struct roce_endpoint *side,
                                      enum roce_oper oper);

/* Records that the receiver drops the current request because of its format or ICRC. */
void roce_note_dropped(struct roce_ctx *ctx);

/* Returns how many of the PSNs from `psn` to `psn` + `cnt` - 1 were captured only in malformed or
 * damaged requests of `side`, which the receiver drops. */
uint32_t roce_dropped_cnt(const struct roce_endpoint *side, uint32_t psn, uint32_t cnt);

/* Adds the latency of an operation, or a round-trip time, to the histograms of `side`. */
void roce_count_latency(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                        uint64_t ns);
void roce_count_rtt(struct roce_ctx *ctx, struct roce_endpoint *side, uint64_t ns);

/* Counts a request of `side` for `len` bytes at address `va` of the remote memory with R_Key
 * `rkey`. */
void roce_count_region(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                       uint32_t rkey, uint64_t va, uint64_t len);

/* Records that the current packet of `side` invalidates the R_Key `rkey`. */
void roce_count_invalidation(struct roce_ctx *ctx, struct roce_endpoint *side, uint32_t rkey);

/* Stores in `refusal` how `side` used the R_Key of its refused request `e` before. Searches only
 * the 256 request packets of `side` before `e`, in PSN order. */
void roce_key_history(struct roce_endpoint *side, const struct roce_sent_packet *e,
                      struct roce_refusal *refusal);

#endif
