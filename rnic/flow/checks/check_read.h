/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Checks of READ responses and Atomic ACKs against their request. Used only in rnic/flow. */
#ifndef FLOW_CHECKS_CHECK_READ_H
#define FLOW_CHECKS_CHECK_READ_H

#include "flow/retransmit/read_stream.h"

/* Checks the current READ response against its request `e`. `step` is the result of
 * roce_read_stream_step() for the response. */
void roce_check_read_resp(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e,
                          const struct roce_read_step *step);

/* Reports that ctx->sender sent a READ response after the response to a later request. Reports
 * nothing if the requester accepts responses in this order without a retransmission. */
void roce_check_reads_end(struct roce_ctx *ctx);

/* Checks the current Atomic ACK against its request `e`. */
void roce_check_atomic_ack(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e);

#endif
