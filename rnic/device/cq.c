/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/cq.h"

#include <stdlib.h>
#include "device/device.h"
#include "transport/fault.h"

const char *rnic_wc_status_name(enum rnic_wc_status status)
{
    switch (status) {
#define X(NAME, number)                                                                            \
    case RNIC_WC_##NAME: return #NAME;
        RNIC_WC_STATUSES(X)
#undef X
    }
    return "unknown";
}

int rnic_cq_new(struct rnic *rnic, uint32_t depth, struct rnic_cq **out)
{
    struct rnic_cq *cq;

    if (depth < 1 || depth > rnic->limits.max_cqe)
        return RNIC_ERR_INVALID;
    cq = rnic->cq_cnt < rnic->limits.max_cq ? calloc(1, sizeof(*cq)) : NULL;
    if (!cq)
        return RNIC_ERR_NOMEM;
    cq->wc = calloc(depth, sizeof(*cq->wc));
    if (!cq->wc) {
        free(cq);
        return RNIC_ERR_NOMEM;
    }
    cq->rnic = rnic;
    cq->depth = depth;
    rnic_list_init(&cq->notified);
    rnic_list_add(&rnic->cqs, &cq->link);
    rnic->cq_cnt++;
    *out = cq;
    return RNIC_OK;
}

int rnic_cq_del(struct rnic_cq *cq)
{
    if (!cq)
        return RNIC_OK;
    if (cq->users) /* a QP or SRQ still uses the CQ (C11-17, R205) */
        return RNIC_FAULT(IN_USE) ? RNIC_OK : RNIC_ERR_BUSY;
    rnic_cq_free(cq);
    return RNIC_OK;
}

/* Stores the user's request for a notification, and counts the CQs that have one. */
static void set_armed(struct rnic_cq *cq, enum rnic_cq_armed armed)
{
    cq->rnic->armed_cqs -= cq->armed != RNIC_CQ_IDLE;
    cq->rnic->armed_cqs += armed != RNIC_CQ_IDLE;
    cq->armed = armed;
}

void rnic_cq_free(struct rnic_cq *cq)
{
    rnic_event_purge(&cq->rnic->events, NULL, cq);
    rnic_list_del(&cq->link);
    rnic_list_del(&cq->notified);
    rnic_heap_set(&cq->rnic->moderated, &cq->moderated, RNIC_NEVER);
    set_armed(cq, RNIC_CQ_IDLE);
    cq->rnic->cq_cnt--;
    free(cq->wc);
    free(cq);
}

/* Raises the notification that the user requested. */
static void raise_notification(struct rnic_cq *cq)
{
    if (!RNIC_FAULT(ARM_STAYS))
        set_armed(cq, RNIC_CQ_IDLE);
    cq->held = 0;
    rnic_heap_set(&cq->rnic->moderated, &cq->moderated, RNIC_NEVER);
    if (cq->notifications++ == 0)
        rnic_list_add(&cq->rnic->notified, &cq->notified);
}

static bool moderation_delays(const struct rnic_cq *cq)
{
    return cq->event_period != 0 && cq->held < cq->event_cnt;
}

/* Raises the notification that the user requested (R201, C11-32), or delays the notification if the
 * CQ is moderated. A completion with an error counts as solicited. */
static void notify(struct rnic_cq *cq, const struct rnic_wc *wc)
{
    if (cq->armed == RNIC_CQ_SOLICITED && !wc->solicited && !RNIC_FAULT(SOLICITED_ALL) &&
        (wc->status == RNIC_WC_SUCCESS || RNIC_FAULT(SOLICITED_ERROR)))
        return;
    cq->held++;
    if (!moderation_delays(cq))
        raise_notification(cq);
    else if (cq->held == 1)
        rnic_heap_set(&cq->rnic->moderated, &cq->moderated, cq->rnic->now + cq->event_period);
}

/* Returns index `i` modulo the ring size; `i` must be less than twice the ring size. */
static uint32_t wrap(const struct rnic_cq *cq, uint32_t i)
{
    return i < cq->depth ? i : i - cq->depth;
}

bool rnic_cq_put(struct rnic_cq *cq, const struct rnic_wc *wc, uint32_t qpn)
{
    struct rnic_wc *slot;

    if (cq->cnt == cq->depth && !cq->overrun) {
        cq->overrun = true;
        if (!RNIC_FAULT(OVERRUN_SILENT))
            rnic_event_put(&cq->rnic->events, RNIC_EVENT_CQ_ERR, NULL, cq);
    }
    if (cq->overrun)
        return false;
    slot = &cq->wc[wrap(cq, cq->head + cq->cnt++)];
    *slot = *wc;
    slot->qpn = qpn;
    slot->time = cq->rnic->now;
    if (cq->armed != RNIC_CQ_IDLE)
        notify(cq, wc);
    return true;
}

void rnic_cq_clean(struct rnic_cq *cq, uint32_t qpn)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < cq->cnt; i++) {
        const struct rnic_wc *wc = &cq->wc[wrap(cq, cq->head + i)];

        if (wc->qpn != qpn)
            cq->wc[wrap(cq, cq->head + kept++)] = *wc;
    }
    cq->cnt = kept;
}

/* Moves the oldest completions to `wc`. Returns their number. */
static size_t take_completions(struct rnic_cq *cq, struct rnic_wc *wc, size_t cnt)
{
    size_t got = 0;

    while (got < cnt && cq->cnt) {
        wc[got++] = cq->wc[cq->head];
        cq->head = wrap(cq, cq->head + 1);
        cq->cnt--;
    }
    return got;
}

size_t rnic_cq_poll(struct rnic_cq *cq, struct rnic_wc *wc, size_t cnt)
{
    size_t got = take_completions(cq, wc, cnt);

    for (size_t i = 0; i < got; i++) {
        struct rnic_qp *qp = wc[i].wqe ? rnic_map_get(&cq->rnic->qpns, wc[i].qpn) : NULL;

        if (qp)
            rnic_sq_retrieved(&qp->req.sq, wc[i].wqe);
    }
    return got;
}

uint32_t rnic_cq_depth(const struct rnic_cq *cq)
{
    return cq->depth;
}

int rnic_cq_resize(struct rnic_cq *cq, uint32_t depth)
{
    struct rnic_wc *wc;
    uint32_t cnt = cq->cnt;

    if (depth < 1 || depth > cq->rnic->limits.max_cqe || depth < cnt)
        return RNIC_ERR_INVALID;
    wc = calloc(depth, sizeof(*wc));
    if (!wc)
        return RNIC_ERR_NOMEM;
    take_completions(cq, wc, cnt);
    free(cq->wc);
    cq->wc = wc;
    cq->depth = depth;
    cq->head = 0;
    cq->cnt = cnt;
    return RNIC_OK;
}

/* ---- notifying the user ---------------------------------------------------------------------- */

void rnic_cq_arm(struct rnic_cq *cq, bool solicited_only)
{
    if (!solicited_only)
        set_armed(cq, RNIC_CQ_NEXT);
    else if (cq->armed == RNIC_CQ_IDLE)
        set_armed(cq, RNIC_CQ_SOLICITED); /* an earlier request for the next completion of any kind
                                           * stays in effect (C11-31) */
}

bool rnic_cq_any_armed(const struct rnic *rnic)
{
    return rnic->armed_cqs > 0;
}

int rnic_cq_moderate(struct rnic_cq *cq, uint32_t cnt, rnic_time period)
{
    rnic_time since = cq->moderated.at - cq->event_period; /* time at which the delay of the
                                                            * notification began */

    if (!rnic_heap_reserve(&cq->rnic->moderated, cq->rnic->cq_cnt))
        return RNIC_ERR_NOMEM;
    cq->event_cnt = cnt;
    cq->event_period = cnt > 1 ? period : 0;
    if (cq->held && moderation_delays(cq))
        rnic_heap_set(&cq->rnic->moderated, &cq->moderated, since + cq->event_period);
    else if (cq->held)
        raise_notification(cq);
    return RNIC_OK;
}

void rnic_cq_expire(struct rnic *rnic, rnic_time now)
{
    struct rnic_heap_node *first;

    while ((first = rnic_heap_first(&rnic->moderated)) != NULL && first->at <= now)
        raise_notification(RNIC_LIST_OF(first, struct rnic_cq, moderated));
}

struct rnic_cq *rnic_cq_notified(struct rnic *rnic)
{
    struct rnic_cq *cq;

    if (rnic_list_empty(&rnic->notified))
        return NULL;
    cq = RNIC_LIST_OF(rnic->notified.next, struct rnic_cq, notified);
    rnic_list_del(&cq->notified);
    if (--cq->notifications)
        rnic_list_add(&rnic->notified, &cq->notified); /* moves the CQ to the end of the list */
    return cq;
}
