/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Checks of request packets within their message. Private to flow/. */
#ifndef FLOW_CHECKS_CHECK_ORDER_H
#define FLOW_CHECKS_CHECK_ORDER_H

#include "flow/base/state.h"

/* Checks the opcode of `e` against the opcode of `prev`, the previous packet in PSN order. */
void roce_check_opcode_order(struct roce_ctx *ctx, struct roce_sent_packet *prev,
                             struct roce_sent_packet *e);

/* Checks the length, address range and alignment of request packet `e`. */
void roce_check_request_packet(struct roce_ctx *ctx, struct roce_sent_packet *e);

#endif
