/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of one packet alone, of its constants against the other packets of its QP, and of payload
 * sizes against the path MTU. Private to flow/.
 */
#ifndef FLOW_CHECKS_CHECK_FORMAT_H
#define FLOW_CHECKS_CHECK_FORMAT_H

#include "flow/base/state.h"

/* Checks the packet alone, its ICRC included. */
void roce_check_format(struct roce_ctx *ctx);

/* Reports the deferred wrong ICRCs of the packet's host, which has its first right one: they were
 * damage. */
void roce_check_icrc_release(struct roce_ctx *ctx);

/* Reports hosts of which no ICRC was right. Called once, at the end of the capture. */
void roce_check_icrc_end(struct roce_flow *flow);

/* Checks what stays the same for all packets of a QP: service, source port, DSCP, P_Key. */
void roce_check_qp_constants(struct roce_ctx *ctx);

/* Checks the payload length against opcode and path MTU. */
void roce_check_size(struct roce_ctx *ctx);

/* Learns the path MTU from a First or Middle packet. */
void roce_check_mtu_learn(struct roce_ctx *ctx);

#endif
