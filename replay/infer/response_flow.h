/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Response flow: finds the flow of the responses to requests that rnic/flow did not pair with any
 * response.
 */
#ifndef REPLAY_INFER_RESPONSE_FLOW_H
#define REPLAY_INFER_RESPONSE_FLOW_H

#include "infer/trace.h"

/* Returns whether a flow is a single response. The response may have a wrong destination QP, so it
 * does not show that the hosts have another connection. */
bool response_flow_is_lone(const struct trace *trace, const struct trace_flow *flow);

/* Returns the flow opposite to `req_flow` if the hosts have exactly one flow in each direction,
 * else KEYMAP_NONE. Ignores single responses if there is another flow. */
uint32_t response_flow_only(const struct trace *trace, uint32_t req_flow);

/* Returns the only group with requests that the single response of `flow` may answer: the requests
 * were captured before the response and have the PSN of the response. `group_of` has the group of
 * each packet of the trace. Returns KEYMAP_NONE if there is not exactly one. */
uint32_t response_flow_group(const struct trace *trace, uint32_t flow, const uint32_t *group_of);

#endif
