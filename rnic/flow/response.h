/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responses: what an ACK, NAK, READ response or Atomic ACK means for the requests. Private to
 * flow/.
 */
#ifndef FLOW_RESPONSE_H
#define FLOW_RESPONSE_H

#include "flow/base/state.h"

/* Checks the response at hand and applies it to the requests it answers. */
void roce_response(struct roce_ctx *ctx);

/* Applies the positive ACK at hand; `e` has its PSN, or is NULL. */
void roce_acknowledged(struct roce_ctx *ctx, struct roce_req *req,
                       const struct roce_sent_packet *e);

/* Notes the response at hand to `req` after it was checked. */
void roce_response_end(struct roce_ctx *ctx, struct roce_req *req);

#endif
