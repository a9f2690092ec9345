/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/pace.h"

#include <stddef.h>
#include "device/device.h"

bool rnic_pacer_grow(struct rnic_pacer *pacer)
{
    if (!rnic_heap_reserve(&pacer->heap, pacer->users + (size_t)1))
        return false;
    pacer->users++;
    return true;
}

void rnic_pacer_shrink(struct rnic_pacer *pacer)
{
    pacer->users--;
}

void rnic_pacer_free(struct rnic_pacer *pacer)
{
    rnic_heap_free(&pacer->heap);
}

void rnic_pacer_add(struct rnic_pacer *pacer, struct rnic_cc *cc, rnic_time at)
{
    if (!cc->paced.slot)
        rnic_heap_set(&pacer->heap, &cc->paced, at);
}

void rnic_pacer_del(struct rnic_pacer *pacer, struct rnic_cc *cc)
{
    rnic_heap_set(&pacer->heap, &cc->paced, RNIC_NEVER);
}

struct rnic_cc *rnic_pacer_due(struct rnic_pacer *pacer, rnic_time now)
{
    struct rnic_heap_node *first = rnic_heap_first(&pacer->heap);

    if (!first || first->at > now)
        return NULL;
    rnic_heap_set(&pacer->heap, first, RNIC_NEVER);
    return (struct rnic_cc *)((char *)first - offsetof(struct rnic_cc, paced));
}

bool rnic_pace_urgent(struct rnic_qp *qp)
{
    const struct rnic_queued_response *response = rnic_response_queue_first(&qp->resp.responses);

    return response && response->res == RNIC_RESPONSE_AETH;
}

bool rnic_pace_held(struct rnic_qp *qp, rnic_time now, rnic_time *at)
{
    if (!qp->cc || !qp->cc->dcqcn.limited)
        return false;
    *at = rnic_dcqcn_next(&qp->cc->dcqcn, &qp->pd->rnic->attr.ecn.dcqcn, now);
    return *at > now;
}

void rnic_pace_sent(struct rnic_qp *qp, const struct roce_pkt *pkt, size_t len, rnic_time now)
{
    if (qp->cc && pkt->op->kind != ROCE_KIND_ACK)
        rnic_dcqcn_sent(&qp->cc->dcqcn, &qp->pd->rnic->attr.ecn.dcqcn, (uint32_t)len, now);
}
