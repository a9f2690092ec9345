/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/response_queue.h"

#include <assert.h>
#include <string.h>
#include "wire/codes.h"

static bool is_aeth(const struct rnic_owed *owed)
{
    return owed->res == RNIC_OWED_AETH;
}

static void insert(struct rnic_owed_queue *queue, uint8_t idx, struct rnic_owed owed)
{
    /* Because no two acknowledgements are neighbours and each resource is there once. */
    assert(queue->cnt < RNIC_OWED_MAX);
    memmove(&queue->at[idx + 1], &queue->at[idx], (queue->cnt - idx) * sizeof(owed));
    queue->at[idx] = owed;
    queue->cnt++;
}

static void erase(struct rnic_owed_queue *queue, uint8_t idx)
{
    queue->cnt--;
    memmove(&queue->at[idx], &queue->at[idx + 1], (queue->cnt - idx) * sizeof(queue->at[0]));
}

bool rnic_owed_is_ack(const struct rnic_owed_queue *queue)
{
    return queue->cnt == 1 && is_aeth(&queue->at[0]) &&
           roce_syndrome_kind(queue->at[0].syndrome) == ROCE_SYN_ACK;
}

void rnic_owed_aeth(struct rnic_owed_queue *queue, rnic_pos pos, uint8_t syndrome, uint32_t msn)
{
    struct rnic_owed owed = {pos, msn, syndrome, RNIC_OWED_AETH};
    struct rnic_owed *last = queue->cnt ? &queue->at[queue->cnt - 1] : NULL;

    if (!last || !is_aeth(last))
        insert(queue, queue->cnt, owed);
    else if (pos >= last->pos)
        *last = owed;
}

/* The answer of resource `res`, if owed, is not wanted any more. */
static void cancel(struct rnic_owed_queue *queue, uint8_t res)
{
    for (uint8_t i = 0; i < queue->cnt; i++) {
        if (queue->at[i].res != res)
            continue;
        erase(queue, i);
        /* Two acknowledgements that are neighbours now: the later one says both. */
        if (i > 0 && i < queue->cnt && is_aeth(&queue->at[i - 1]) && is_aeth(&queue->at[i]))
            erase(queue, (uint8_t)(i - 1));
        return;
    }
}

void rnic_owed_res(struct rnic_owed_queue *queue, uint8_t res, rnic_pos pos, uint32_t msn)
{
    uint8_t idx = 0;

    cancel(queue, res);
    while (idx < queue->cnt && queue->at[idx].pos < pos)
        idx++;
    insert(queue, idx, (struct rnic_owed){.pos = pos, .msn = msn, .res = res});
}

void rnic_owed_settle(struct rnic_owed_queue *queue)
{
    struct rnic_owed *last = rnic_owed_last(queue);

    if (last->pos == 0) { /* nothing is before it */
        queue->cnt--;
        return;
    }
    last->pos--;
    last->syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE;
}

void rnic_owed_pop(struct rnic_owed_queue *queue)
{
    assert(queue->cnt > 0);
    erase(queue, 0);
}
