/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/pace.h"

#include <stdlib.h>
#include "device/device.h"

bool rnic_pacer_grow(struct rnic_pacer *pacer)
{
    if (pacer->users == pacer->cap) {
        uint32_t cap = pacer->cap ? 2 * pacer->cap : 16;
        struct rnic_cc **at = realloc(pacer->at, cap * sizeof(struct rnic_cc *));

        if (!at)
            return false;
        pacer->at = at;
        pacer->cap = cap;
    }
    pacer->users++;
    return true;
}

void rnic_pacer_shrink(struct rnic_pacer *pacer)
{
    pacer->users--;
}

void rnic_pacer_free(struct rnic_pacer *pacer)
{
    free(pacer->at);
    *pacer = (struct rnic_pacer){0};
}

static void put(struct rnic_pacer *pacer, uint32_t i, struct rnic_cc *cc)
{
    pacer->at[i] = cc;
    cc->paced = i + 1;
}

/* Moves `cc`, for which place i is free, to where it belongs. */
static void sift(struct rnic_pacer *pacer, uint32_t i, struct rnic_cc *cc)
{
    for (; i && cc->paced_at < pacer->at[(i - 1) / 2]->paced_at; i = (i - 1) / 2)
        put(pacer, i, pacer->at[(i - 1) / 2]);
    for (;;) {
        uint32_t kid = 2 * i + 1;

        if (kid + 1 < pacer->cnt && pacer->at[kid + 1]->paced_at < pacer->at[kid]->paced_at)
            kid++;
        if (kid >= pacer->cnt || pacer->at[kid]->paced_at >= cc->paced_at)
            break;
        put(pacer, i, pacer->at[kid]);
        i = kid;
    }
    put(pacer, i, cc);
}

void rnic_pacer_add(struct rnic_pacer *pacer, struct rnic_cc *cc, rnic_time at)
{
    if (cc->paced)
        return;
    cc->paced_at = at;
    put(pacer, pacer->cnt, cc);
    pacer->cnt++;
    sift(pacer, pacer->cnt - 1, cc);
}

void rnic_pacer_del(struct rnic_pacer *pacer, struct rnic_cc *cc)
{
    uint32_t i = cc->paced - 1;
    struct rnic_cc *last;

    if (!cc->paced)
        return;
    cc->paced = 0;
    last = pacer->at[--pacer->cnt];
    if (last != cc)
        sift(pacer, i, last);
}

struct rnic_cc *rnic_pacer_due(struct rnic_pacer *pacer, rnic_time now)
{
    struct rnic_cc *cc;

    if (rnic_pacer_next(pacer) > now)
        return NULL;
    cc = pacer->at[0];
    rnic_pacer_del(pacer, cc);
    return cc;
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
