/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Events: completion channels, asynchronous events, and the callbacks by which port/live reports
 * them. A program must acknowledge each event before the object can be destroyed. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>

/* ---- events from the device ------------------------------------------------------------------ */

/* Queues an asynchronous event in the context to which the event's object belongs. */
static void deliver_async_event(struct vhca *hca, const struct rnic_event *event)
{
    struct evq_entry entry = {.type = (int)event->type};
    struct ibv_context *context = NULL;
    struct vcq *cq = rnic_map_get(&hca->cqs, (uintptr_t)event->cq);
    struct vqp *qp = rnic_map_get(&hca->qps, (uintptr_t)event->qp);
    struct vsrq *srq = rnic_map_get(&hca->srqs, (uintptr_t)event->srq);
    if (srq) {
        entry.object = srq;
        entry.reported = &srq->async_reported;
        context = srq->ibv.context;
    } else if (qp) {
        entry.object = qp;
        entry.reported = &qp->async_reported;
        context = qp->ibv.context;
    } else if (cq) {
        entry.object = cq;
        entry.reported = &cq->async_reported;
        context = cq->ibv.context;
    }
    if (context)
        evq_push(&vctx_of(context)->async, &entry);
}

void vhca_notified(void *user, struct rnic *rnic)
{
    struct vhca *hca = user;
    struct rnic_event event;
    struct rnic_cq *notified;
    while (rnic_event_get(rnic, &event))
        deliver_async_event(hca, &event);
    while ((notified = rnic_cq_notified(rnic)) != NULL) {
        struct vcq *cq = rnic_map_get(&hca->cqs, (uintptr_t)notified);
        if (cq && cq->ibv.channel)
            evq_push(&vchannel_of(cq->ibv.channel)->events,
                     &(struct evq_entry){.object = cq, .reported = &cq->comp_reported});
    }
}

/* Queues an event of the port in each context. */
static void push_port_event(struct vhca *hca, enum ibv_event_type type)
{
    const struct evq_entry entry = {.type = (int)type};
    for (struct vctx *ctx = hca->contexts; ctx; ctx = ctx->next)
        evq_push(&ctx->async, &entry);
}

void vhca_changed(void *user, struct rnic *rnic, unsigned what)
{
    static const struct {
        enum rnic_live_change change;
        enum ibv_event_type type;
    } rows[] = {
        {RNIC_CHANGE_LINK_UP, IBV_EVENT_PORT_ACTIVE},
        {RNIC_CHANGE_LINK_DOWN, IBV_EVENT_PORT_ERR},
        {RNIC_CHANGE_GIDS, IBV_EVENT_GID_CHANGE},
        {RNIC_CHANGE_GONE, IBV_EVENT_DEVICE_FATAL},
    };
    (void)rnic;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (what & rows[i].change)
            push_port_event(user, rows[i].type);
}

/* ---- acknowledging events -------------------------------------------------------------------- */

void verbs_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
                      unsigned reported)
{
    pthread_mutex_lock(mutex);
    while (*completed != reported)
        pthread_cond_wait(cond, mutex);
    pthread_mutex_unlock(mutex);
}

static void ack_events(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed,
                       uint32_t cnt)
{
    pthread_mutex_lock(mutex);
    *completed += cnt;
    pthread_cond_broadcast(cond);
    pthread_mutex_unlock(mutex);
}

/* ---- completion channels --------------------------------------------------------------------- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct vchannel *channel = calloc(1, sizeof *channel);
    int result = channel ? evq_init(&channel->events) : ENOMEM;
    if (result != 0) {
        free(channel);
        errno = result;
        return NULL;
    }
    channel->ibv.context = context;
    channel->ibv.fd = channel->events.fd;
    return &channel->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
    struct vchannel *channel = vchannel_of(ibv);
    struct ibv_context *context = ibv->context;
    vctx_lock(context);
    int refs = ibv->refcnt;
    vctx_unlock(context);
    if (refs > 0)
        return EBUSY;
    evq_free(&channel->events);
    free(channel);
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq, void **cq_context)
{
    struct evq_entry entry;
    int result = evq_get(&vchannel_of(ibv)->events, &entry);
    if (result != 0) {
        errno = result;
        return -1;
    }
    *cq = &((struct vcq *)entry.object)->ibv;
    *cq_context = (*cq)->cq_context;
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents)
{
    if (nevents)
        ack_events(&cq->mutex, &cq->cond, &cq->comp_events_completed, nevents);
}

/* ---- asynchronous events --------------------------------------------------------------------- */

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    struct evq_entry entry;
    int result = evq_get(&vctx_of(context)->async, &entry);
    if (result != 0) {
        errno = result;
        return -1;
    }
    event->event_type = (enum ibv_event_type)entry.type;
    if (entry.object)
        event->element.qp = entry.object; /* qp, cq and srq share the union, as pointers */
    else
        event->element.port_num = 1;
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    struct ibv_cq *cq = event->element.cq;
    struct ibv_qp *qp = event->element.qp;
    struct ibv_srq *srq = event->element.srq;
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        ack_events(&cq->mutex, &cq->cond, &cq->async_events_completed, 1);
        return;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        ack_events(&qp->mutex, &qp->cond, &qp->events_completed, 1);
        return;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        ack_events(&srq->mutex, &srq->cond, &srq->events_completed, 1);
        return;
    default: return;
    }
}
