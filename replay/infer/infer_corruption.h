/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Infer corruption: decides which damaged packets their receivers accepted. A conformant receiver
 * drops a packet with a wrong ICRC or a malformed header, so its sender must retransmit the
 * contents. If the sender continues without a retransmission, the receiver must have accepted the
 * damaged packet.
 */
#ifndef REPLAY_INFER_INFER_CORRUPTION_H
#define REPLAY_INFER_INFER_CORRUPTION_H

#include "infer/infer_setup.h"

/* Sets pkt_event.usable of each event, and counts damaged and retransmitted packets. A damaged
 * response is usable if it is the only damaged packet of its connection, no retransmission follows,
 * and the requester continues. Proof that the requester continues: it receives a later response,
 * then receives the response to a new request, and then sends another new request. Fewer packets
 * prove nothing, because a requester may send several requests before it handles a response. */
void infer_corruption(struct inferred_setup *setup);

/* Sets pkt_event.usable of a damaged response to false if other responses contain its data. In this
 * case the requester may have dropped the damaged response without retransmitting its request. Call
 * after setup->mtu was set. Returns false if out of memory. */
bool infer_corruption_excuse(struct inferred_setup *setup);

/* Returns whether the request with relative PSN `gap` was captured damaged and never retransmitted.
 * The capture then lacks no packet, and the comparison reports the damage. */
bool infer_corruption_hides(const struct inferred_setup *setup, int64_t gap);

#endif
