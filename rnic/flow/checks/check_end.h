/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Findings about the end of a connection. Used only in rnic/flow.
 */
#ifndef FLOW_CHECKS_CHECK_END_H
#define FLOW_CHECKS_CHECK_END_H

#include "flow/base/state.h"

/* Reports why ctx->conn ended and which requests were outstanding. Called once for each connection.
 */
void roce_check_end(struct roce_ctx *ctx);

#endif
