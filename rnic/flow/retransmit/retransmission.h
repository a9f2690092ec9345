/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Retransmissions: detects go-backs of a requester, and their cause and cost. One go-back is the
 * packets from its first retransmitted PSN until the requester sends a new PSN. Private to flow/.
 */
#ifndef FLOW_RETRANSMIT_RETRANSMISSION_H
#define FLOW_RETRANSMIT_RETRANSMISSION_H

#include "flow/base/state.h"

/* Records a retransmission of `psn_cnt` PSNs from `psn` on. `e` is their window entry, or NULL if
 * there is none. Returns true if a go-back begins with this packet. */
bool roce_retransmission_step(struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn,
                              uint32_t psn_cnt);

/* Returns whether a request with an older PSN is out of order rather than retransmitted. */
bool roce_request_is_out_of_order(const struct roce_ctx *ctx, uint32_t psn);

#endif
