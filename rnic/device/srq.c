/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/srq.h"

#include <stdlib.h>
#include "device/device.h"
#include "transport/fault.h"

#define SRQN_MAX 0xFFFFFFu /* 24 bits of the XRCETH (R179) */

static uint32_t choose_srqn(struct rnic *rnic)
{
    uint32_t srqn;

    do {
        srqn = rnic_entropy_u32(&rnic->entropy) & SRQN_MAX;
    } while (srqn == 0 || rnic_map_get(&rnic->srqns, srqn));
    return srqn;
}

static bool init_valid(const struct rnic_pd *pd, const struct rnic_srq_init *init)
{
    if (!init->xrcd != !init->cq)
        return false;
    if (init->xrcd && (init->xrcd->rnic != pd->rnic || init->cq->rnic != pd->rnic))
        return false;
    return init->max_wr >= 1 && init->max_wr <= pd->rnic->limits.max_srq_wr && init->max_sge >= 1 &&
           init->max_sge <= pd->rnic->limits.max_srq_sge && init->limit <= init->max_wr &&
           init->srqn <= SRQN_MAX;
}

int rnic_srq_new(struct rnic_pd *pd, const struct rnic_srq_init *init, struct rnic_srq **out)
{
    struct rnic *rnic = pd->rnic;
    struct rnic_srq *srq;

    if (!init_valid(pd, init))
        return RNIC_ERR_INVALID;
    if (init->srqn && rnic_map_get(&rnic->srqns, init->srqn))
        return RNIC_ERR_EXISTS;
    srq = rnic->srqns.cnt < rnic->limits.max_srq ? calloc(1, sizeof(*srq)) : NULL;
    if (!srq)
        return RNIC_ERR_NOMEM;
    srq->srqn = init->srqn ? init->srqn : choose_srqn(rnic);
    if (!rnic_rq_init(&srq->rq, init->max_wr, init->max_sge) ||
        !rnic_map_add(&rnic->srqns, srq->srqn, srq)) {
        rnic_rq_free(&srq->rq);
        free(srq);
        return RNIC_ERR_NOMEM;
    }
    srq->rq.limit = init->limit;
    srq->pd = pd;
    pd->users++;
    srq->xrcd = init->xrcd;
    srq->cq = init->cq;
    if (srq->xrcd) {
        srq->xrcd->users++;
        srq->cq->users++;
    }
    rnic_list_add(&rnic->srqs, &srq->link);
    *out = srq;
    return RNIC_OK;
}

int rnic_srq_del(struct rnic_srq *srq)
{
    struct rnic_list *qps;

    if (!srq)
        return RNIC_OK;
    if (srq->users)
        return RNIC_ERR_BUSY;
    /* An XRC target QP does not count as a user of the SRQ, but a message that it is receiving can
     * use a WQE of the SRQ. */
    qps = &srq->pd->rnic->qps;
    for (struct rnic_list *at = qps->next; srq->xrcd && at != qps; at = at->next)
        rnic_responder_srq_gone(&RNIC_LIST_OF(at, struct rnic_qp, link)->resp, &srq->rq);
    rnic_srq_free(srq);
    return RNIC_OK;
}

void rnic_srq_free(struct rnic_srq *srq)
{
    struct rnic *rnic = srq->pd->rnic;

    rnic_event_purge_srq(&rnic->events, srq);
    rnic_map_del(&rnic->srqns, srq->srqn);
    rnic_list_del(&srq->link);
    srq->pd->users--;
    if (srq->xrcd) {
        srq->xrcd->users--;
        srq->cq->users--;
    }
    rnic_rq_free(&srq->rq);
    free(srq);
}

/* Changes the maximum number of WQEs, and keeps the WQEs that incomplete messages use. */
static int resize(struct rnic_srq *srq, uint32_t max_wr)
{
    struct rnic_list *qps = &srq->pd->rnic->qps;
    uint8_t *old;

    if (max_wr < rnic_rq_used(&srq->rq))
        return RNIC_ERR_INVALID;
    if (!rnic_rq_resize(&srq->rq, max_wr, &old))
        return RNIC_ERR_NOMEM;
    for (struct rnic_list *at = qps->next; old && at != qps; at = at->next) {
        struct rnic_responder *resp = &RNIC_LIST_OF(at, struct rnic_qp, link)->resp;

        if (resp->recv_queue == &srq->rq && resp->msg.wqe)
            resp->msg.wqe = rnic_rq_moved(&srq->rq, old, resp->msg.wqe);
    }
    free(old);
    return RNIC_OK;
}

int rnic_srq_modify(struct rnic_srq *srq, const uint32_t *max_wr, const uint32_t *limit)
{
    uint32_t max = max_wr ? *max_wr : srq->rq.max;
    int rc = RNIC_OK;

    if (max < 1 || max > srq->pd->rnic->limits.max_srq_wr || (limit ? *limit : srq->rq.limit) > max)
        return RNIC_ERR_INVALID;
    if (max_wr)
        rc = resize(srq, max);
    if (rc == RNIC_OK && limit)
        srq->rq.limit = *limit;
    return rc;
}

void rnic_srq_view(const struct rnic_srq *srq, struct rnic_srq_init *out)
{
    *out = (struct rnic_srq_init){
        .max_wr = srq->rq.max,
        .max_sge = srq->rq.max_sge,
        .limit = srq->rq.limit,
        .xrcd = srq->xrcd,
        .cq = srq->cq,
        .srqn = srq->srqn,
    };
}

uint32_t rnic_srq_num(const struct rnic_srq *srq)
{
    return srq->srqn;
}

int rnic_post_srq_recv(struct rnic_srq *srq, const struct rnic_recv_wr *wr)
{
    if (srq->rq.broken)
        return RNIC_ERR_STATE;
    switch (rnic_rq_post(&srq->rq, wr)) {
    case RNIC_RQ_POSTED: return RNIC_OK;
    case RNIC_RQ_FULL: return RNIC_ERR_FULL;
    case RNIC_RQ_INVALID: break;
    }
    return RNIC_ERR_INVALID;
}

struct rnic_srq *rnic_srq_find(const struct rnic_xrcd *xrcd, uint32_t srqn)
{
    struct rnic_srq *srq = rnic_map_get(&xrcd->rnic->srqns, srqn);

    return srq && (srq->xrcd == xrcd || RNIC_FAULT(XRC_DOMAIN)) ? srq : NULL;
}

void rnic_srq_settle(struct rnic_srq *srq)
{
    if (!srq->rq.low)
        return;
    srq->rq.low = false;
    rnic_event_put_srq(&srq->pd->rnic->events, RNIC_EVENT_SRQ_LIMIT_REACHED, srq);
}

void rnic_srq_break(struct rnic_srq *srq)
{
    if (srq->rq.broken)
        return;
    srq->rq.broken = true;
    rnic_event_put_srq(&srq->pd->rnic->events, RNIC_EVENT_SRQ_ERR, srq);
}
