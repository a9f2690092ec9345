/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Response transmit: the sending side of the responder. The responder's steps queue responses with
 * these functions; rnic_responder_output() builds the packets when the device is ready to send.
 * Only the responder's files and uc.c use this header. */
#ifndef TRANSPORT_RESPONSE_TX_H
#define TRANSPORT_RESPONSE_TX_H

#include "transport/responder.h"

/* Queues an ACK of all requests executed so far. */
void rnic_responder_queue_ack(struct rnic_responder *resp);

/* Queues a NAK at the expected PSN. */
void rnic_responder_queue_nak(struct rnic_responder *resp, uint8_t syndrome);

/* Updates a queued sequence NAK after the missing request was executed. The NAK then names the next
 * missing PSN (R067), or becomes an ACK if no PSN is missing. A NAK that was sent is not changed.
 */
void rnic_responder_update_seq_nak(struct rnic_responder *resp);

/* Queues the response of a responder resource, from `pos` on. */
void rnic_responder_queue_resource(struct rnic_responder *resp, const struct rnic_respres *res,
                                   rnic_pos pos);

/* Moves the QP to the error state and reports an asynchronous event. */
void rnic_responder_fail(struct rnic_responder *resp, enum rnic_event_type event);

/* Moves the QP to the error state because a request cannot be executed (R089, R090). The receive
 * WQE of the request completes with `status`; without a WQE, `event` is reported (R088). */
void rnic_responder_fail_request(struct rnic_responder *resp, enum rnic_wc_status status,
                                 enum rnic_event_type event);

#endif
