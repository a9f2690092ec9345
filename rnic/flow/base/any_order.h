/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recognises devices that accept packets in any order (direct data placement, adaptive routing,
 * several paths). Other devices drop a packet that arrives before a packet with an earlier PSN, and
 * the requester retransmits it. Therefore, if an early packet was transmitted only once and was
 * acknowledged, there are two explanations: the receiver accepts any order, or the capture point
 * reordered the packets. Used only in rnic/flow.
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

/* Called when the current packet acknowledges request `e`. Counts `e` in accepted_early if `e` was
 * transmitted once and captured before a request with an earlier PSN. The caller passes requests in
 * PSN order. */
void roce_note_accepted(struct roce_ctx *ctx, struct roce_req *req,
                        const struct roce_sent_packet *e);

/* Records that the sender changed its UDP source port to `port`. Returns true if `port` is new for
 * the sender, and the sender does not yet seem to use several ports for several paths. */
bool roce_note_port(struct roce_ctx *ctx, uint16_t port);

/* Returns whether `side` uses several UDP source ports on purpose, for several paths. There are two
 * signs: one of the two endpoints accepts packets in any order, or `side` returned several times to
 * earlier ports and its peer reported no loss. */
bool roce_ports_are_paths(const struct roce_flow *flow, const struct roce_endpoint *side);

#endif
