/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responses: applies an ACK, NAK, READ response or Atomic ACK to the requests it answers. Used only
 * in rnic/flow.
 */
#ifndef FLOW_RESPONSE_H
#define FLOW_RESPONSE_H

#include "flow/base/state.h"

/* Checks the current response and applies it to the requests it answers. */
void roce_response(struct roce_ctx *ctx);

/* Applies the current positive ACK to the requests of `req`. `e` is the window entry of the request
 * packet with the PSN of the ACK, or NULL if there is none. */
void roce_acknowledged(struct roce_ctx *ctx, struct roce_req *req,
                       const struct roce_sent_packet *e);

/* Counts as completed the requests of ctx->conn that were acknowledged before its two directions
 * were paired. Their latencies are unknown. If `end` is false, counts a request only if it was
 * captured before its response. If `end` is true (the capture ended), also counts a request that
 * was captured after its response, because the clocks of two mirror ports differ. */
void roce_acknowledged_before_join(struct roce_ctx *ctx, bool end);

/* Records the current response to a request of `req`, after the checks of the response. */
void roce_response_end(struct roce_ctx *ctx, struct roce_req *req);

#endif
