/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Retransmissions: a requester goes back and sends packets again: why, and what it cost. One
 * retransmission is one go-back: the packets that follow one another from where it started until
 * new ones come. Private to flow/.
 */
#ifndef FLOW_RETRANSMIT_RETRANSMISSION_H
#define FLOW_RETRANSMIT_RETRANSMISSION_H

#include "flow/base/state.h"

/* Notes that PSNs from `psn` on are sent again; `e` is their entry of the window, or NULL if there
 * is none. Returns true if a go-back begins with them. */
bool roce_retransmission_step(struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn,
                              uint32_t psn_cnt);

/* Returns whether a PSN that comes after later ones is out of order rather than sent again. */
bool roce_request_is_out_of_order(const struct roce_ctx *ctx, uint32_t psn);

#endif
