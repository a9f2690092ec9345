/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of datagrams. Used only in rnic/flow.
 */
#ifndef FLOW_CHECKS_CHECK_UD_H
#define FLOW_CHECKS_CHECK_UD_H

#include "flow/base/state.h"

/* Counts the current datagram, and checks its size, multicast addresses and management fields. */
void roce_check_ud(struct roce_ctx *ctx);

#endif
