/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/event.h"

#include "device/cq.h"
#include "device/qp.h"
#include "device/srq.h"

static uint32_t *pending_of(const struct rnic_event *event)
{
    if (event->qp)
        return &event->qp->events;
    return event->cq ? &event->cq->events : &event->srq->events;
}

static void put(struct rnic_event_queue *queue, struct rnic_event event)
{
    uint32_t *pending = pending_of(&event);
    uint32_t bit = UINT32_C(1) << event.type;

    if (*pending & bit || queue->cnt == RNIC_EVENT_MAX)
        return;
    *pending |= bit;
    queue->at[(queue->head + queue->cnt++) % RNIC_EVENT_MAX] = event;
}

void rnic_event_put(struct rnic_event_queue *queue, enum rnic_event_type type, struct rnic_qp *qp,
                    struct rnic_cq *cq)
{
    put(queue, (struct rnic_event){.type = type, .qp = qp, .cq = cq});
}

void rnic_event_put_srq(struct rnic_event_queue *queue, enum rnic_event_type type,
                        struct rnic_srq *srq)
{
    put(queue, (struct rnic_event){.type = type, .srq = srq});
}

bool rnic_event_take(struct rnic_event_queue *queue, struct rnic_event *out)
{
    if (queue->cnt == 0)
        return false;
    *out = queue->at[queue->head];
    queue->head = (queue->head + 1) % RNIC_EVENT_MAX;
    queue->cnt--;
    *pending_of(out) &= ~(UINT32_C(1) << out->type);
    return true;
}

static void purge(struct rnic_event_queue *queue, const struct rnic_qp *qp,
                  const struct rnic_cq *cq, const struct rnic_srq *srq)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < queue->cnt; i++) {
        struct rnic_event event = queue->at[(queue->head + i) % RNIC_EVENT_MAX];

        if (event.qp == qp && event.cq == cq && event.srq == srq)
            continue;
        queue->at[(queue->head + kept++) % RNIC_EVENT_MAX] = event;
    }
    queue->cnt = kept;
}

void rnic_event_purge(struct rnic_event_queue *queue, const struct rnic_qp *qp,
                      const struct rnic_cq *cq)
{
    purge(queue, qp, cq, NULL);
}

void rnic_event_purge_srq(struct rnic_event_queue *queue, const struct rnic_srq *srq)
{
    purge(queue, NULL, NULL, srq);
}
