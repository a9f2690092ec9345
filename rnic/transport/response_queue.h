/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Owed: the responses that a responder has yet to send, in the order of the requests (R077). An
 * acknowledgement not yet sent is replaced by a later one, which says more (R064, R069), so that
 * the queue never holds more than one entry for each responder resource and one ACK or NAK between
 * two of them, however many requests arrive.
 */
#ifndef TRANSPORT_RESPONSE_QUEUE_H
#define TRANSPORT_RESPONSE_QUEUE_H

#include "transport/respres.h"

#define RNIC_RESPONSE_QUEUE_MAX (2 * RNIC_RD_ATOMIC_MAX + 1)
#define RNIC_RESPONSE_AETH      0xFF /* rnic_queued_response.res of an ACK or NAK */

struct rnic_queued_response {
    rnic_pos pos;     /* ACK, NAK: of the PSN it carries. Resource: of the packet next sent */
    uint32_t msn;     /* 24 bit (R102-R104) */
    uint8_t syndrome; /* of an ACK or NAK */
    uint8_t res; /* index of the responder resource whose answer this is, or RNIC_RESPONSE_AETH */
};

struct rnic_response_queue {
    uint8_t cnt;
    struct rnic_queued_response entry[RNIC_RESPONSE_QUEUE_MAX]; /* at[0] is sent next */
};

static inline struct rnic_queued_response *
rnic_response_queue_first(struct rnic_response_queue *queue)
{
    return queue->cnt ? &queue->entry[0] : NULL;
}

static inline struct rnic_queued_response *
rnic_response_queue_last(struct rnic_response_queue *queue)
{
    return queue->cnt ? &queue->entry[queue->cnt - 1] : NULL;
}

/* Whether one ACK, and neither NAK nor response, is all that is owed. */
bool rnic_response_queue_is_ack(const struct rnic_response_queue *queue);

/* Owes an ACK or NAK for `pos`, unless one that covers it is owed already. */
void rnic_response_queue_put_aeth(struct rnic_response_queue *queue, rnic_pos pos, uint8_t syndrome,
                                  uint32_t msn);

/* Owes the answer of resource `res` from `pos` on: before every response of a later request
 * (R077). An answer of that resource owed before is replaced. */
void rnic_response_queue_put_resource(struct rnic_response_queue *queue, uint8_t res, rnic_pos pos,
                                      uint32_t msn);

/* The last entry is a NAK that is not wanted any more: what is left of it is the ACK of all before
 * (R069). */
void rnic_response_queue_nak_to_ack(struct rnic_response_queue *queue);

/* The first entry was sent, or is not wanted any more. */
void rnic_response_queue_pop(struct rnic_response_queue *queue);

#endif
