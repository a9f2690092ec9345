/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Response queue: the responses that a responder has yet to send, in the order of the requests
 * (R077). A later ACK replaces an unsent earlier ACK, because the later one acknowledges more
 * requests (R064, R069). Exception: if an ACK is alone in the queue, a sequence NAK does not
 * replace it. Such an ACK is erased when the queue is full. The queue has at most one entry for
 * each responder resource, and one ACK or NAK between two such entries. The size of the queue is
 * therefore limited, however many requests arrive. */
#ifndef TRANSPORT_RESPONSE_QUEUE_H
#define TRANSPORT_RESPONSE_QUEUE_H

#include "transport/respres.h"

#define RNIC_RESPONSE_QUEUE_MAX (2 * RNIC_RD_ATOMIC_MAX + 1) /* queued responses */
#define RNIC_RESPONSE_AETH      0xFF /* value of rnic_queued_response.res for an ACK or NAK */

struct rnic_queued_response {
    rnic_pos
        pos; /* ACK or NAK: position of its PSN; responder resource: position of the next packet */
    uint32_t msn;     /* MSN of the response, 24 bit (R102-R104) */
    uint8_t syndrome; /* syndrome of an ACK or NAK */
    uint8_t res;      /* index of the responder resource, or RNIC_RESPONSE_AETH */
};

struct rnic_response_queue {
    uint8_t cnt;
    struct rnic_queued_response entry[RNIC_RESPONSE_QUEUE_MAX]; /* queued responses; entry[0] is
                                                                 * sent next */
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

/* Returns whether the queue contains exactly one ACK and no other response. */
bool rnic_response_queue_is_ack(const struct rnic_response_queue *queue);

/* Queues an ACK or NAK for `pos`. If the last entry is an ACK or NAK, replaces that entry, or does
 * nothing if that entry has a later position. Exception: if an ACK is alone in the queue, a
 * sequence NAK does not replace it. The cause of the NAK may be a forged request. The requester
 * then ignores the NAK, because it has not sent a request with the PSN of the NAK (R137), but it
 * still needs the ACK. */
void rnic_response_queue_put_aeth(struct rnic_response_queue *queue, rnic_pos pos, uint8_t syndrome,
                                  uint32_t msn);

/* Queues the response of resource `res` from `pos` on, before the responses of later requests
 * (R077). If a response of that resource is already queued, replaces it. */
void rnic_response_queue_put_resource(struct rnic_response_queue *queue, uint8_t res, rnic_pos pos,
                                      uint32_t msn);

/* Replaces the last entry, a NAK, by an ACK of the requests before it, because the cause of the NAK
 * has ended (R069). */
void rnic_response_queue_nak_to_ack(struct rnic_response_queue *queue);

/* Removes the first entry of the queue. */
void rnic_response_queue_pop(struct rnic_response_queue *queue);

#endif
