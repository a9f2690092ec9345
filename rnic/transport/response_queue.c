/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/response_queue.h"

#include <assert.h>
#include <string.h>
#include "wire/codes.h"

static bool is_aeth(const struct rnic_queued_response *response)
{
    return response->res == RNIC_RESPONSE_AETH;
}

static void erase_entry(struct rnic_response_queue *queue, uint8_t idx)
{
    queue->cnt--;
    memmove(&queue->entry[idx], &queue->entry[idx + 1],
            (queue->cnt - idx) * sizeof(queue->entry[0]));
}

/* Inserts an entry. If the queue is full and begins with an ACK and a sequence NAK, the ACK is
 * erased, because the NAK acknowledges the same requests. In all other cases the queue has a free
 * entry: each responder resource is queued once, and at most one acknowledgement is between two of
 * them. */
static void insert_entry(struct rnic_response_queue *queue, uint8_t idx,
                         struct rnic_queued_response response)
{
    if (queue->cnt == RNIC_RESPONSE_QUEUE_MAX && is_aeth(&queue->entry[0]) &&
        is_aeth(&queue->entry[1])) {
        erase_entry(queue, 0);
        idx -= idx > 0;
    }
    assert(queue->cnt < RNIC_RESPONSE_QUEUE_MAX);
    memmove(&queue->entry[idx + 1], &queue->entry[idx], (queue->cnt - idx) * sizeof(response));
    queue->entry[idx] = response;
    queue->cnt++;
}

/* If the queue contains two acknowledgements and nothing else, and the second is an ACK, removes
 * the first one, because the second one acknowledges its requests, too. */
static void merge_acks(struct rnic_response_queue *queue)
{
    if (queue->cnt == 2 && is_aeth(&queue->entry[0]) && is_aeth(&queue->entry[1]) &&
        roce_syndrome_kind(queue->entry[1].syndrome) == ROCE_SYN_ACK)
        erase_entry(queue, 0);
}

bool rnic_response_queue_is_ack(const struct rnic_response_queue *queue)
{
    return queue->cnt == 1 && is_aeth(&queue->entry[0]) &&
           roce_syndrome_kind(queue->entry[0].syndrome) == ROCE_SYN_ACK;
}

void rnic_response_queue_put_aeth(struct rnic_response_queue *queue, rnic_pos pos, uint8_t syndrome,
                                  uint32_t msn)
{
    struct rnic_queued_response response = {pos, msn, syndrome, RNIC_RESPONSE_AETH};
    struct rnic_queued_response *last = queue->cnt ? &queue->entry[queue->cnt - 1] : NULL;

    if (!last || !is_aeth(last) ||
        (rnic_response_queue_is_ack(queue) && pos > last->pos &&
         syndrome == (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ))) {
        insert_entry(queue, queue->cnt, response);
    } else if (pos >= last->pos) {
        *last = response;
        merge_acks(queue);
    }
}

/* Removes the response of resource `res`, if it is queued. */
static void cancel_resource(struct rnic_response_queue *queue, uint8_t res)
{
    for (uint8_t i = 0; i < queue->cnt; i++) {
        if (queue->entry[i].res != res)
            continue;
        erase_entry(queue, i);
        /* Two acknowledgements are now adjacent. The later one acknowledges all requests of the
         * earlier one. */
        if (i > 0 && i < queue->cnt && is_aeth(&queue->entry[i - 1]) && is_aeth(&queue->entry[i]))
            erase_entry(queue, (uint8_t)(i - 1));
        return;
    }
}

void rnic_response_queue_put_resource(struct rnic_response_queue *queue, uint8_t res, rnic_pos pos,
                                      uint32_t msn)
{
    uint8_t idx = 0;

    cancel_resource(queue, res);
    while (idx < queue->cnt && queue->entry[idx].pos < pos)
        idx++;
    insert_entry(queue, idx, (struct rnic_queued_response){.pos = pos, .msn = msn, .res = res});
}

void rnic_response_queue_nak_to_ack(struct rnic_response_queue *queue)
{
    struct rnic_queued_response *last = rnic_response_queue_last(queue);

    if (last->pos == 0) { /* no request precedes the NAK */
        queue->cnt--;
        return;
    }
    last->pos--;
    last->syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE;
    merge_acks(queue);
}

void rnic_response_queue_pop(struct rnic_response_queue *queue)
{
    assert(queue->cnt > 0);
    erase_entry(queue, 0);
}
