/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responses: applies an ACK, NAK, READ response or Atomic ACK to the requests it answers. Private
 * to flow/.
 */
#ifndef FLOW_RESPONSE_H
#define FLOW_RESPONSE_H

#include "flow/base/state.h"

/* Checks the current response and applies it to the requests it answers. */
void roce_response(struct roce_ctx *ctx);

/* Applies the current positive ACK; `e` is the request packet with its PSN, or NULL. */
void roce_acknowledged(struct roce_ctx *ctx, struct roce_req *req,
                       const struct roce_sent_packet *e);

/* Counts as completed the requests of ctx->conn that responses acknowledged before its two
 * directions were paired. Their latencies are unknown. At the end of the capture (`end`), responses
 * may have been captured before their requests: the clocks of two mirror ports differ. */
void roce_acknowledged_before_join(struct roce_ctx *ctx, bool end);

/* Records the current response to `req` after its checks. */
void roce_response_end(struct roce_ctx *ctx, struct roce_req *req);

#endif
