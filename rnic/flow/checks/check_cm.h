/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Checks of single CM messages. Used only in rnic/flow. */
#ifndef FLOW_CHECKS_CHECK_CM_H
#define FLOW_CHECKS_CHECK_CM_H

#include "flow/base/state.h"

void roce_check_cm(struct roce_ctx *ctx, const struct roce_cm_msg *msg);

#endif
