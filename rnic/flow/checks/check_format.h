/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of the format of one packet, of fields that are constant for a QP, and of payload sizes
 * against the path MTU. Used only in rnic/flow.
 */
#ifndef FLOW_CHECKS_CHECK_FORMAT_H
#define FLOW_CHECKS_CHECK_FORMAT_H

#include "flow/base/state.h"

/* Checks the format and ICRC of the current packet. */
void roce_check_format(struct roce_ctx *ctx);

/* Reports the deferred wrong ICRCs of the current packet's sender. The current packet has the first
 * right ICRC of this sender, so the packets with a wrong ICRC were damaged. */
void roce_check_icrc_release(struct roce_ctx *ctx);

/* Reports hosts that sent no packet with a right ICRC. Called once, at the end of the capture. */
void roce_check_icrc_end(struct roce_flow *flow);

/* Checks the fields that must be constant for all packets of a QP: service, source port, DSCP,
 * P_Key. */
void roce_check_qp_constants(struct roce_ctx *ctx);

/* Checks the payload length of the current packet against its opcode and the path MTU. */
void roce_check_size(struct roce_ctx *ctx);

/* If the current packet is a First or Middle, infers the path MTU from its payload length. */
void roce_check_mtu_learn(struct roce_ctx *ctx);

/* Called for each side at the end of a connection. Counts the sender in `ctx` if it was recognised
 * as rxe. Reports the sender's packets with MigReq 0 if this report was deferred. */
void roce_check_migreq_end(struct roce_ctx *ctx);

/* At the end of a connection: reports that the sender changed its UDP source port, if it did. */
void roce_check_ports_end(struct roce_ctx *ctx);

#endif
