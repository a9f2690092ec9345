/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Checks of NAKs and of responses after a NAK. Used only in rnic/flow. */
#ifndef FLOW_CHECKS_CHECK_NAK_H
#define FLOW_CHECKS_CHECK_NAK_H

#include "flow/base/state.h"

/* Checks the current NAK or RNR NAK against the requests of `req`. */
void roce_check_nak(struct roce_ctx *ctx, struct roce_req *req);

/* Checks the PSN of the current positive response: it must not be before the first request of
 * `req`, far after the captured ones, or after a fatal NAK. */
void roce_check_ack_psn(struct roce_ctx *ctx, struct roce_req *req);

#endif
