/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of NAKs, and of what a responder may send after one. Private to flow/.
 */
#ifndef FLOW_CHECKS_CHECK_NAK_H
#define FLOW_CHECKS_CHECK_NAK_H

#include "flow/base/state.h"

/* Checks the NAK or RNR NAK at hand against the requests of `req`. */
void roce_check_nak(struct roce_ctx *ctx, struct roce_req *req);

/* Checks the PSN of the positive response at hand. */
void roce_check_ack_psn(struct roce_ctx *ctx, struct roce_req *req);

#endif
