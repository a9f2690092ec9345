/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Queue of asynchronous events. Each object has one bit for each event type, which is set while
 * such an event is queued. An event that occurs again while it is queued is not queued a second
 * time, so a peer cannot fill the queue.
 */
#ifndef RNIC_EVENT_H
#define RNIC_EVENT_H

#include "device/rnic.h"

#define RNIC_EVENT_MAX 1024 /* maximum number of queued events, documented at rnic_event_get() */

struct rnic_event_queue {
    struct rnic_event at[RNIC_EVENT_MAX];
    uint32_t head;
    uint32_t cnt;
};

/* Queues an event of a QP or a CQ; the pointer to the other kind of object is NULL. If an event of
 * the same type and object is already queued, or the queue is full, the event is dropped. */
void rnic_event_put(struct rnic_event_queue *queue, enum rnic_event_type type, struct rnic_qp *qp,
                    struct rnic_cq *cq);

/* Queues an event of an SRQ. */
void rnic_event_put_srq(struct rnic_event_queue *queue, enum rnic_event_type type,
                        struct rnic_srq *srq);

bool rnic_event_take(struct rnic_event_queue *queue, struct rnic_event *out);

/* Removes all events of an object that is about to be freed. */
void rnic_event_purge(struct rnic_event_queue *queue, const struct rnic_qp *qp,
                      const struct rnic_cq *cq);
void rnic_event_purge_srq(struct rnic_event_queue *queue, const struct rnic_srq *srq);

#endif
