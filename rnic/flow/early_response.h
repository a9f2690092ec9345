/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Early responses: responses that were captured before their requests. Called for each such
 * request. Used only in rnic/flow.
 */
#ifndef FLOW_EARLY_RESPONSE_H
#define FLOW_EARLY_RESPONSE_H

#include "flow/base/state.h"

/* Processes new request `e` of the sender, the newest window entry. A response that acknowledges
 * `e`, or part of its READ responses, was captured before `e`, because the clocks of two capture
 * points differ. Counts `e` as completed if it is the end of its message. Its latency is unknown.
 */
void roce_early_response(struct roce_ctx *ctx, struct roce_sent_packet *e);

#endif
