/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Order: recognises devices that accept packets in any order (direct data placement, adaptive
 * routing, several paths). A device that requires order drops a packet that overtook another, and
 * the requester retransmits it. So an overtaking packet that was transmitted once and acknowledged
 * shows that order does not matter, or that the capture point reordered the packets. Private to
 * flow/.
 */
#ifndef FLOW_BASE_ANY_ORDER_H
#define FLOW_BASE_ANY_ORDER_H

#include "flow/base/state.h"

/* Returns whether the peer of `requester` accepts the requester's packets in any order. */
bool roce_requests_in_any_order(const struct roce_flow *flow,
                                const struct roce_endpoint *requester);

/* Returns whether the peer of `responder` accepts the responder's READ responses in any order. */
bool roce_responses_in_any_order(const struct roce_flow *flow,
                                 const struct roce_endpoint *responder);

/* Counts request `e`, which the current packet acknowledges, if the request overtook an earlier one
 * and was accepted. The caller passes requests in PSN order. */
void roce_note_accepted(struct roce_ctx *ctx, struct roce_req *req,
                        const struct roce_sent_packet *e);

/* Records that the sender changed its UDP source port to `port`. Returns whether the sender did not
 * use this port before. */
bool roce_note_port(struct roce_ctx *ctx, uint16_t port);

/* Returns whether `side` sends over several UDP source ports on purpose. This is so if one of the
 * two endpoints accepts any order, or if `side` returns to earlier ports and its peer reports no
 * loss. */
bool roce_ports_are_paths(const struct roce_flow *flow, const struct roce_endpoint *side);

#endif
