/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Checks of request packets within their message. Used only in rnic/flow. */
#ifndef FLOW_CHECKS_CHECK_ORDER_H
#define FLOW_CHECKS_CHECK_ORDER_H

#include "flow/base/state.h"

/* Checks that the opcode of `e` may follow the opcode of `prev`, the packet with the previous
 * PSN. */
void roce_check_opcode_order(struct roce_ctx *ctx, struct roce_sent_packet *prev,
                             struct roce_sent_packet *e);

/* Checks the length, address range and alignment of request packet `e`. */
void roce_check_request_packet(struct roce_ctx *ctx, struct roce_sent_packet *e);

#endif
