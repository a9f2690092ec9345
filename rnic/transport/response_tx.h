/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Answer: the sending side of the responder. The responder's steps say here what they owe; the
 * packets are made when the device has room, by rnic_responder_output(). This header is for the
 * responder's own files.
 */
#ifndef TRANSPORT_RESPONSE_TX_H
#define TRANSPORT_RESPONSE_TX_H

#include "transport/responder.h"

/* Owes an ACK of all that was executed. */
void rnic_responder_queue_ack(struct rnic_responder *resp);

/* Owes a NAK of the expected request. */
void rnic_responder_queue_nak(struct rnic_responder *resp, uint8_t syndrome);

/* A request that a sequence NAK asks for was executed. If that NAK has not left yet, it asks for
 * what is missing now (R067: for the expected PSN), or, if nothing is, is the ACK that it contains.
 */
void rnic_responder_update_seq_nak(struct rnic_responder *resp);

/* Owes the answer that a responder resource holds, from `pos` on. */
void rnic_responder_queue_resource(struct rnic_responder *resp, const struct rnic_respres *res,
                                   rnic_pos pos);

/* Ends the connection with an asynchronous event. */
void rnic_responder_fail(struct rnic_responder *resp, enum rnic_event_type event);

/*
 * Ends the connection because of a request that cannot be answered (R089, R090): the receive WQE
 * that the request holds completes with `status`; without one `event` tells (R088).
 */
void rnic_responder_fail_request(struct rnic_responder *resp, enum rnic_wc_status status,
                                 enum rnic_event_type event);

#endif
