/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Events: the asynchronous events that wait for the user. Each object carries a bit for each type
 * that is pending for it, so that an event that would only repeat one is merged, and the queue
 * stays bounded whatever a peer does.
 */
#ifndef RNIC_EVENT_H
#define RNIC_EVENT_H

#include "device/rnic.h"

#define RNIC_EVENT_MAX 1024 /* what the contract of rnic_event_get() names */

struct rnic_event_queue {
    struct rnic_event at[RNIC_EVENT_MAX];
    uint32_t head;
    uint32_t cnt;
};

/* Queues an event of a QP or CQ (the other is NULL). Merged if one of that type is pending for that
 * object; lost if the queue is full. */
void rnic_event_put(struct rnic_event_queue *queue, enum rnic_event_type type, struct rnic_qp *qp,
                    struct rnic_cq *cq);

/* The same of an SRQ. */
void rnic_event_put_srq(struct rnic_event_queue *queue, enum rnic_event_type type,
                        struct rnic_srq *srq);

bool rnic_event_take(struct rnic_event_queue *queue, struct rnic_event *out);

/* The object is about to be freed: no event of it stays behind. */
void rnic_event_purge(struct rnic_event_queue *queue, const struct rnic_qp *qp,
                      const struct rnic_cq *cq);
void rnic_event_purge_srq(struct rnic_event_queue *queue, const struct rnic_srq *srq);

#endif
