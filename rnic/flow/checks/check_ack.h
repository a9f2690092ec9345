/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of AETHs: syndromes, credits and the MSN. Used only in rnic/flow.
 */
#ifndef FLOW_CHECKS_CHECK_ACK_H
#define FLOW_CHECKS_CHECK_ACK_H

#include "flow/base/state.h"

/* Checks the syndrome of the current response and records its credits. */
void roce_check_aeth(struct roce_ctx *ctx);

/* Checks the MSN of the current response against the requests of `req`. */
void roce_check_msn(struct roce_ctx *ctx, struct roce_req *req);

/* Reports the responses of `responder` with an MSN that was undecided at the end of the connection.
 */
void roce_check_msn_end(struct roce_ctx *ctx, struct roce_endpoint *responder);

/* Returns whether `msn` is certainly the right MSN for a positive ACK with the last PSN of `e`. */
bool roce_msn_fits(const struct roce_rsp *rsp, const struct roce_sent_packet *e, uint32_t msn);

/* Reports that the responder acknowledged request `e`, which it had to refuse (e->bad). */
void roce_check_accepted(struct roce_ctx *ctx, const struct roce_sent_packet *e);

/* Returns how long the sender of the current new request waited for a credit, ns, and counts this
 * wait; 0 if it did not wait. */
uint64_t roce_credit_wait(struct roce_ctx *ctx);

#endif
