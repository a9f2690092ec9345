/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of requests against the responder's credits and NAKs and the negotiated parameters.
 * Used only in rnic/flow.
 */
#ifndef FLOW_CHECKS_CHECK_REQUEST_H
#define FLOW_CHECKS_CHECK_REQUEST_H

#include "flow/base/state.h"

/* Checks the new request `e`: it must not exceed the credits or the limit of outstanding READs, and
 * must not follow a fatal NAK. */
void roce_check_new_request(struct roce_ctx *ctx, struct roce_sent_packet *e);

/* Reports that request `e` exceeded the credits. Called when `e` is acknowledged. Reports nothing
 * if a response that was sent before `e` but captured later granted a credit for `e`. */
void roce_check_over_credit(struct roce_ctx *ctx, const struct roce_sent_packet *e);

/* Checks that `now`, the current packet, is identical to `e`, which it retransmits. */
void roce_check_retry_same(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                           const struct roce_sent_packet *now);

/* Checks a go-back: the requester's wait before the go-back, and the number of retries. `e` is the
 * first retransmitted packet, or NULL if this packet has no window entry. `idle` is the time since
 * the requester's previous packet, ns. */
void roce_check_retransmission(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                               uint64_t idle);

#endif
