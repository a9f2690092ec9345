/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "agent/agent_objects.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* ---- protection domains ---------------------------------------------------------------------- */

int agent_pd_new(struct agent_device *dev, uint32_t *out)
{
    if (dev->own_pd_cnt == AGENT_PDS_MAX)
        return error_set(&dev->error, "more than %u protection domains", AGENT_PDS_MAX);
    dev->own_pd[dev->own_pd_cnt] = ibv_alloc_pd(dev->ctx);
    if (!dev->own_pd[dev->own_pd_cnt])
        return agent_failed(dev, "allocate the protection domain", errno);
    *out = dev->own_pd_cnt++;
    return 0;
}

int agent_pd_del(struct agent_device *dev, uint32_t pd)
{
    int rc = ibv_dealloc_pd(dev->own_pd[pd]);

    if (rc != 0)
        return agent_failed(dev, "deallocate the protection domain", rc);
    dev->own_pd[pd] = NULL;
    return 0;
}

/* ---- completion queues ----------------------------------------------------------------------- */

int agent_cq_new(struct agent_device *dev, uint32_t depth, uint32_t *out)
{
    struct agent_cq *cq = &dev->own_cq[dev->own_cq_cnt];

    if (dev->own_cq_cnt == AGENT_CQS_MAX)
        return error_set(&dev->error, "more than %u CQs", AGENT_CQS_MAX);
    cq->channel = ibv_create_comp_channel(dev->ctx);
    if (!cq->channel)
        return agent_failed(dev, "create the completion channel", errno);
    cq->cq = ibv_create_cq(dev->ctx, (int)depth, NULL, cq->channel, 0);
    if (!cq->cq) {
        int code = errno;

        ibv_destroy_comp_channel(cq->channel);
        return agent_failed(dev, "create the CQ", code);
    }
    *out = dev->own_cq_cnt++;
    return 0;
}

int agent_cq_del(struct agent_device *dev, uint32_t cq)
{
    int rc = ibv_destroy_cq(dev->own_cq[cq].cq);

    if (rc != 0)
        return agent_failed(dev, "destroy the CQ", rc);
    dev->own_cq[cq].cq = NULL;
    return 0;
}

int agent_cq_resize(struct agent_device *dev, uint32_t cq, uint32_t depth)
{
    int rc = ibv_resize_cq(dev->own_cq[cq].cq, (int)depth);

    return rc == 0 ? 0 : agent_failed(dev, "resize the CQ", rc > 0 ? rc : errno);
}

int agent_cq_arm(struct agent_device *dev, uint32_t cq, bool solicited)
{
    int rc = ibv_req_notify_cq(dev->own_cq[cq].cq, solicited);

    return rc == 0 ? 0 : agent_failed(dev, "arm the CQ", rc > 0 ? rc : errno);
}

bool agent_notified(struct agent_device *dev, uint32_t *cq)
{
    for (uint32_t i = 0; i < dev->own_cq_cnt; i++) {
        struct pollfd ready = {.fd = dev->own_cq[i].channel->fd, .events = POLLIN};
        struct ibv_cq *from;
        void *user;

        if (poll(&ready, 1, 0) != 1 || ibv_get_cq_event(dev->own_cq[i].channel, &from, &user) != 0)
            continue;
        ibv_ack_cq_events(from, 1);
        *cq = i;
        return true;
    }
    return false;
}

/* ---- shared receive queues ------------------------------------------------------------------- */

/* Creates an SRQ. Sets its limit with ibv_modify_srq(), because ibv_create_srq() ignores the
 * limit. */
int agent_srq_new(struct agent_device *dev, const struct agent_srq_attr *attr, uint32_t *out)
{
    struct ibv_srq_init_attr init = {.attr = {.max_wr = attr->depth, .max_sge = 1}};

    if (dev->srq_cnt == AGENT_SRQS_MAX)
        return error_set(&dev->error, "more than %u SRQs", AGENT_SRQS_MAX);
    dev->srq[dev->srq_cnt] = ibv_create_srq(attr->pd ? attr->pd : dev->pd, &init);
    if (!dev->srq[dev->srq_cnt])
        return agent_failed(dev, "create the SRQ", errno);
    if (attr->limit && agent_srq_modify(dev, dev->srq_cnt, NULL, &attr->limit) != 0) {
        ibv_destroy_srq(dev->srq[dev->srq_cnt]);
        dev->srq[dev->srq_cnt] = NULL;
        return -1;
    }
    *out = dev->srq_cnt++;
    return 0;
}

int agent_srq_del(struct agent_device *dev, uint32_t srq)
{
    int rc = ibv_destroy_srq(dev->srq[srq]);

    if (rc != 0)
        return agent_failed(dev, "destroy the SRQ", rc);
    dev->srq[srq] = NULL;
    return 0;
}

int agent_srq_modify(struct agent_device *dev, uint32_t srq, const uint32_t *depth,
                     const uint32_t *limit)
{
    struct ibv_srq_attr attr = {.max_wr = depth ? *depth : 0, .srq_limit = limit ? *limit : 0};
    int rc = ibv_modify_srq(dev->srq[srq], &attr,
                            (depth ? IBV_SRQ_MAX_WR : 0) | (limit ? IBV_SRQ_LIMIT : 0));

    return rc == 0 ? 0 : agent_failed(dev, "modify the SRQ", rc > 0 ? rc : errno);
}

/* ---- memory windows -------------------------------------------------------------------------- */

int agent_mw_new(struct agent_device *dev, enum ibv_mw_type type, uint32_t *out)
{
    if (dev->mw_cnt == AGENT_MWS_MAX)
        return error_set(&dev->error, "more than %u memory windows", AGENT_MWS_MAX);
    errno = EOPNOTSUPP;
    dev->mw[dev->mw_cnt] = ibv_alloc_mw(dev->pd, type);
    if (!dev->mw[dev->mw_cnt])
        return agent_failed(dev, "allocate the memory window", errno);
    *out = dev->mw_cnt++;
    return 0;
}

int agent_mw_del(struct agent_device *dev, uint32_t mw)
{
    int rc = ibv_dealloc_mw(dev->mw[mw]);

    if (rc != 0)
        return agent_failed(dev, "deallocate the memory window", rc);
    dev->mw[mw] = NULL;
    return 0;
}

int agent_mw_bind(struct agent_device *dev, const struct agent_bind *bind)
{
    struct ibv_mw *mw = dev->mw[bind->mw];
    unsigned flags = bind->unsignaled ? 0u : IBV_SEND_SIGNALED;
    struct agent_wr *slot;
    int rc;

    if (!dev->qp[bind->qp].qp)
        return error_set(&dev->error, "the QP was deleted");
    slot = agent_wr_new(dev, dev->pd, bind->qp, bind->id, 0);
    if (!slot)
        return -1;
    if (mw->type == IBV_MW_TYPE_1) {
        struct ibv_mw_bind one = {
            .wr_id = (uint64_t)(slot - dev->wr), .send_flags = flags, .bind_info = bind->info};

        rc = ibv_bind_mw(dev->qp[bind->qp].qp, mw, &one);
    } else {
        struct ibv_send_wr wr = {.wr_id = (uint64_t)(slot - dev->wr),
                                 .opcode = IBV_WR_BIND_MW,
                                 .send_flags = flags,
                                 .bind_mw = {.mw = mw,
                                             .rkey = bind->rkey,
                                             .bind_info = bind->info}},
                           *bad;

        rc = ibv_post_send(dev->qp[bind->qp].qp, &wr, &bad);
        if (rc == 0)
            mw->rkey = bind->rkey;
    }
    if (rc == 0)
        return 0;
    agent_wr_free(dev, slot);
    return agent_failed(dev, "bind the memory window", rc);
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

int agent_qp_state(struct agent_device *dev, uint32_t qp, enum ibv_qp_state *out)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    int rc;

    if (!dev->qp[qp].qp)
        return error_set(&dev->error, "the QP was deleted");
    rc = ibv_query_qp(dev->qp[qp].qp, &attr, IBV_QP_STATE, &init);
    if (rc != 0)
        return agent_failed(dev, "query the QP", rc > 0 ? rc : errno);
    *out = attr.qp_state;
    return 0;
}

/* Returns the attributes (enum ibv_qp_attr_mask) that ibv_modify_qp() requires for this state
 * transition of a QP of this type. */
static int transition_mask(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to)
{
    bool rc = type == IBV_QPT_RC, ud = type == IBV_QPT_UD;

    if (to == IBV_QPS_INIT && from == IBV_QPS_RESET)
        return IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    if (to == IBV_QPS_RTR && from == IBV_QPS_INIT && !ud)
        return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
    if (to == IBV_QPS_RTS && from == IBV_QPS_RTR)
        return IBV_QP_SQ_PSN |
               (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                   : 0);
    return to == IBV_QPS_SQD && from == IBV_QPS_RTS ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0;
}

int agent_qp_modify(struct agent_device *dev, uint32_t qp, const struct agent_connect *to,
                    enum ibv_qp_state state, int mask)
{
    enum ibv_qp_state from;
    struct ibv_qp_attr attr;
    int rc;

    if (agent_qp_state(dev, qp, &from) != 0)
        return -1;
    if (agent_qp_attr(dev, to, &attr) != 0)
        return -1;
    attr.qp_state = state;
    attr.en_sqd_async_notify = 1;
    if (mask == IBV_QP_STATE)
        mask |= transition_mask(dev->qp[qp].qp->qp_type, from, state);
    rc = ibv_modify_qp(dev->qp[qp].qp, &attr, mask);
    return rc == 0 ? 0 : agent_failed(dev, "modify the QP", rc > 0 ? rc : errno);
}

/* ---- asynchronous events --------------------------------------------------------------------- */

bool agent_event_get(struct agent_device *dev, struct agent_event *out)
{
    struct pollfd ready = {.fd = dev->ctx->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    if (poll(&ready, 1, 0) != 1 || ibv_get_async_event(dev->ctx, &event) != 0)
        return false;
    *out = (struct agent_event){.type = event.event_type};
    switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        for (uint32_t i = 0; i < dev->qp_cnt; i++)
            if (dev->qp[i].qp && dev->qp[i].qp == event.element.qp) {
                out->has_qp = true;
                out->qp = i;
            }
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        for (uint32_t i = 0; i < dev->srq_cnt; i++)
            if (dev->srq[i] && dev->srq[i] == event.element.srq) {
                out->has_srq = true;
                out->srq = i;
            }
        break;
    case IBV_EVENT_CQ_ERR:
        for (uint32_t i = 0; i < dev->own_cq_cnt; i++)
            if (dev->own_cq[i].cq && dev->own_cq[i].cq == event.element.cq) {
                out->has_cq = true;
                out->cq = i;
            }
        break;
    default: break;
    }
    ibv_ack_async_event(&event);
    return true;
}
