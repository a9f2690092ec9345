/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of requests against what the responder said and what was negotiated. Private to flow/.
 */
#ifndef FLOW_CHECKS_CHECK_REQUEST_H
#define FLOW_CHECKS_CHECK_REQUEST_H

#include "flow/base/state.h"

/* Checks a new request: credits, outstanding READs, requests after a fatal NAK. */
void roce_check_new_request(struct roce_ctx *ctx, struct roce_sent_packet *e);

/* `e`, which was over the credits when it was captured, is acknowledged: reports it if no response
 * before this one gave the credits. */
void roce_check_over_credit(struct roce_ctx *ctx, const struct roce_sent_packet *e);

/* Checks that `now`, the packet at hand, repeats `e`. */
void roce_check_retry_same(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                           const struct roce_sent_packet *now);

/* Checks waits and counts of the go-back that begins at `e`, or NULL; `idle`: ns since the
 * requester sent before. */
void roce_check_retransmission(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                               uint64_t idle);

#endif
