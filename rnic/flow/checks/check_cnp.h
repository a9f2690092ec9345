/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of congestion marks and CNPs. Used only in rnic/flow.
 */
#ifndef FLOW_CHECKS_CHECK_CNP_H
#define FLOW_CHECKS_CHECK_CNP_H

#include "flow/base/state.h"

/* Counts CE marks and CNPs, and checks the format of a CNP. */
void roce_check_cnp(struct roce_ctx *ctx);

/* Reports the CE-marked packets of ctx->sender if their receiver should have sent a CNP and sent
 * none. Counts only packets with payload, because only these require a CNP (R220). Reports nothing
 * if the capture ends soon after the first of them, because a CNP may be late. */
void roce_check_cnp_end(struct roce_ctx *ctx);

#endif
