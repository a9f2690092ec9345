/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Retransmissions: detects go-backs of a requester, their cause and their cost. One go-back
 * consists of all packets from the first retransmitted PSN until the requester sends a new PSN.
 * Used only in rnic/flow.
 */
#ifndef FLOW_RETRANSMIT_RETRANSMISSION_H
#define FLOW_RETRANSMIT_RETRANSMISSION_H

#include "flow/base/state.h"

/* Records that the current packet retransmits `psn_cnt` PSNs from `psn` on. `e` is the window entry
 * of these PSNs, or NULL if there is none. Returns true if a go-back begins with this packet. */
bool roce_retransmission_step(struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn,
                              uint32_t psn_cnt);

/* The current request has an older PSN than the newest request. Returns true if it is the first
 * transmission and was captured out of order, false if it is a retransmission. `next` is the window
 * entry after this PSN, or NULL. */
bool roce_request_is_out_of_order(const struct roce_ctx *ctx, uint32_t psn,
                                  const struct roce_sent_packet *next);

/* Returns whether the current request is the first transmission of `e`, a captured request with the
 * same PSN. Then `e` is the retransmission, which overtook the first transmission on the path. */
bool roce_request_is_overtaken(const struct roce_ctx *ctx, const struct roce_sent_packet *e);

#endif
