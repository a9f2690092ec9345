/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sent order: undoes the reordering of the network between a sender and the capture point, as far
 * as the IPv4 identifications show it (trace_sent_before()).
 *
 * For the replay of a responder, requests remain in the order of the capture, which is nearest to
 * the order in which they arrived. Responses are in the order in which the responder sent them. For
 * the replay of a requester, responses remain in the order of the capture, and requests are in the
 * order in which the requester sent them. So a direction has two lists of events if the network
 * reordered its packets before the capture point. infer_setup() calls sent_order_restore() before
 * all other steps.
 */
#ifndef REPLAY_INFER_SENT_ORDER_H
#define REPLAY_INFER_SENT_ORDER_H

#include "infer/packet_log.h"

/* Returns whether requests or responses of a direction were captured in another order than sent. */
bool sent_order_differs(const struct trace *trace, const struct recorded_direction *recorded);

/* Moves the requests or the responses of a setup into the order in which they were sent. A packet
 * moves before the first captured packet that was sent after it, and gets its `sent_at`. */
void sent_order_restore(struct inferred_setup *setup, bool responses);

#endif
