/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/cq.h"

#include <stdlib.h>
#include "device/device.h"

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

    if (depth < 1 || depth > RNIC_CQ_MAX)
        return RNIC_ERR_INVALID;
    cq = calloc(1, sizeof(*cq));
    if (!cq)
        return RNIC_ERR_NOMEM;
    cq->wc = calloc(depth, sizeof(*cq->wc));
    if (!cq->wc) {
        free(cq);
        return RNIC_ERR_NOMEM;
    }
    cq->rnic = rnic;
    cq->depth = depth;
    rnic_list_add(&rnic->cqs, &cq->link);
    *out = cq;
    return RNIC_OK;
}

int rnic_cq_del(struct rnic_cq *cq)
{
    if (!cq)
        return RNIC_OK;
    if (cq->users)
        return RNIC_ERR_BUSY; /* C11-17, R205 */
    rnic_cq_free(cq);
    return RNIC_OK;
}

void rnic_cq_free(struct rnic_cq *cq)
{
    rnic_event_purge(&cq->rnic->events, NULL, cq);
    rnic_list_del(&cq->link);
    free(cq->wc);
    free(cq);
}

bool rnic_cq_put(struct rnic_cq *cq, const struct rnic_wc *wc)
{
    if (cq->cnt == cq->depth && !cq->overrun) {
        cq->overrun = true;
        rnic_event_put(&cq->rnic->events, RNIC_EVENT_CQ_ERR, NULL, cq);
    }
    if (cq->overrun)
        return false;
    cq->wc[(cq->head + cq->cnt++) % cq->depth] = *wc;
    return true;
}

size_t rnic_cq_poll(struct rnic_cq *cq, struct rnic_wc *wc, size_t cnt)
{
    size_t got = 0;

    while (got < cnt && cq->cnt) {
        wc[got++] = cq->wc[cq->head];
        cq->head = (cq->head + 1) % cq->depth;
        cq->cnt--;
    }
    return got;
}
