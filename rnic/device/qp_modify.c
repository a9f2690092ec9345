/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* QP states and attributes: executes a modify-QP call. */
#include <string.h>
#include "device/av.h"
#include "device/device.h"
#include "device/qp_attr.h"
#include "transport/fault.h"
#include "wire/codes.h"
#include "wire/gid.h"

const char *rnic_qp_state_name(enum rnic_qp_state state)
{
    switch (state) {
    case RNIC_QPS_RESET: return "RESET";
    case RNIC_QPS_INIT: return "INIT";
    case RNIC_QPS_RTR: return "RTR";
    case RNIC_QPS_RTS: return "RTS";
    case RNIC_QPS_SQD: return "SQD";
    case RNIC_QPS_SQE: return "SQE";
    case RNIC_QPS_ERR: return "ERR";
    }
    return "unknown";
}

/* ---- attribute values ------------------------------------------------------------------------ */

/* Returns true if each attribute is in its range and within the device's limits (R049, R194). */
static bool values_valid(const struct rnic_qp *qp, const struct rnic_qp_attr *attr, unsigned mask)
{
    const struct rnic *rnic = qp->pd->rnic;
    const struct rnic_limits *limits = &rnic->limits;

    /* clang-format off */
    return (!(mask & RNIC_QP_CUR_STATE) || attr->cur_state == qp->state) &&
           (!(mask & RNIC_QP_ACCESS_FLAGS) || !(attr->access & ~RNIC_ACCESS_FLAGS)) &&
           (!(mask & RNIC_QP_PKEY_INDEX) || rnic_pkey_valid(attr->pkey)) &&
           (!(mask & RNIC_QP_PORT) || attr->port_num == 1 || RNIC_FAULT(PORT_ANY)) &&
           (!(mask & RNIC_QP_AV) || (rnic_av_valid(rnic, &attr->av) && !roce_gid_is_multicast(attr->av.dgid))) &&
           (!(mask & RNIC_QP_PATH_MTU) || roce_mtu_code(attr->path_mtu) != 0) &&
           (!(mask & RNIC_QP_DEST_QPN) || attr->dest_qpn <= 0xFFFFFF) &&
           (!(mask & RNIC_QP_RQ_PSN) || (attr->rq_psn <= ROCE_PSN_MASK && attr->rq_msn <= ROCE_PSN_MASK)) &&
           (!(mask & RNIC_QP_MAX_DEST_RD_ATOMIC) || attr->max_dest_rd_atomic <= limits->max_qp_rd_atom) &&
           (!(mask & RNIC_QP_MIN_RNR_TIMER) || attr->min_rnr_timer < ROCE_RNR_CODES) &&
           (!(mask & RNIC_QP_SQ_PSN) || attr->sq_psn <= ROCE_PSN_MASK) &&
           (!(mask & RNIC_QP_MAX_QP_RD_ATOMIC) || attr->max_rd_atomic <= limits->max_qp_init_rd_atom) &&
           (!(mask & RNIC_QP_TIMEOUT) || attr->timeout < 32) &&
           (!(mask & RNIC_QP_RETRY_CNT) || attr->retry_cnt <= RNIC_RETRY_MAX) &&
           (!(mask & RNIC_QP_RNR_RETRY) || attr->rnr_retry <= RNIC_RNR_RETRY_FOREVER);
    /* clang-format on */
}

static void set_av(struct rnic_qp *qp, const struct rnic_av *av)
{
    const struct rnic_gid *gid = &qp->pd->rnic->attr.gid[av->sgid_idx];

    qp->av = *av;
    rnic_av_resolve(&qp->av);
    if (qp->av.udp_sport == 0)
        qp->av.udp_sport = rnic_av_sport(qp->av.flow, qp->qpn, qp->resp.attr.dest_qpn);
    if (rnic_ecn_on(&qp->pd->rnic->attr.ecn) && (qp->av.tclass & 3) == 0)
        qp->av.tclass |= 2; /* ECT(0): switches mark only ECN-capable packets (R005) */
    qp->encap = rnic_gid_encap(gid);
    memcpy(qp->sgid, gid->gid, sizeof(qp->sgid));
    rnic_av_envelope(qp->pd->rnic, &qp->av, &qp->env);
}

/* Sets the Q_Key. QP 1 always has its well-known Q_Key (R171). */
static void set_qkey(struct rnic_qp *qp, uint32_t qkey)
{
    qp->qkey = qp->type == RNIC_QPT_GSI ? ROCE_QKEY_GSI : qkey;
    qp->resp.attr.qkey = qp->req.attr.qkey = qp->qkey;
}

/* Stores valid attributes. enter() then starts the responder or the requester with them. */
static void set_values(struct rnic_qp *qp, const struct rnic_qp_attr *attr, unsigned mask)
{
    struct rnic_responder_attr *resp = &qp->resp.attr;
    struct rnic_requester_attr *req = &qp->req.attr;

    if (mask & RNIC_QP_ACCESS_FLAGS)
        qp->access = resp->access = attr->access;
    if (mask & RNIC_QP_PKEY_INDEX)
        qp->pkey = resp->pkey = req->pkey = attr->pkey;
    if (mask & RNIC_QP_QKEY)
        set_qkey(qp, attr->qkey);
    if (mask & RNIC_QP_DEST_QPN)
        resp->dest_qpn = req->dest_qpn = attr->dest_qpn;
    if (mask & RNIC_QP_PATH_MTU)
        resp->path_mtu = req->path_mtu = attr->path_mtu;
    if (mask & RNIC_QP_RQ_PSN) {
        resp->rq_psn = roce_psn_of(attr->rq_psn);
        resp->rq_msn = attr->rq_msn;
    }
    if (mask & RNIC_QP_MIN_RNR_TIMER)
        resp->min_rnr_timer = attr->min_rnr_timer;
    if (mask & RNIC_QP_MAX_DEST_RD_ATOMIC) {
        resp->max_dest_rd_atomic = attr->max_dest_rd_atomic;
        rnic_respres_resize(&qp->resp.resources, attr->max_dest_rd_atomic);
    }
    if (mask & RNIC_QP_SQ_PSN)
        req->sq_psn = roce_psn_of(attr->sq_psn);
    if (mask & RNIC_QP_MAX_QP_RD_ATOMIC)
        req->max_rd_atomic = attr->max_rd_atomic;
    if (mask & RNIC_QP_TIMEOUT)
        req->timeout = attr->timeout;
    if (mask & RNIC_QP_RETRY_CNT)
        req->retry_cnt = attr->retry_cnt;
    if (mask & RNIC_QP_RNR_RETRY)
        req->rnr_retry = attr->rnr_retry;
    if (mask & (RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY))
        rnic_retry_change(&qp->req.retry, req->timeout, req->retry_cnt, req->rnr_retry);
    if (mask & RNIC_QP_AV) /* set after dest_qpn, because the UDP source port depends on dest_qpn */
        set_av(qp, &attr->av);
}

/* ---- changing the state ---------------------------------------------------------------------- */

void rnic_qp_enter_err(struct rnic_qp *qp)
{
    bool entered = qp->state != RNIC_QPS_ERR;

    qp->state = RNIC_QPS_ERR;
    rnic_requester_flush(&qp->req);
    if (!RNIC_FAULT(FLUSH_RECV))
        rnic_responder_flush(&qp->resp);
    /* The QP no longer uses a WQE of the SRQ: raise "last WQE reached" (o11-5.2.5, R195). */
    if (entered && qp->srq && !RNIC_FAULT(LAST_WQE_LOST))
        rnic_event_put(&qp->pd->rnic->events, RNIC_EVENT_QP_LAST_WQE_REACHED, qp, NULL);
}

/* Resets the QP for a new connection (R190). */
static void enter_reset(struct rnic_qp *qp)
{
    if (!RNIC_FAULT(RESET_KEEPS))
        rnic_responder_reset(&qp->resp);
    rnic_requester_reset(&qp->req);
    rnic_cc_reset(qp);
    if (qp->send_cq)
        rnic_cq_clean(qp->send_cq, qp->qpn);
    if (qp->recv_cq && qp->recv_cq != qp->send_cq)
        rnic_cq_clean(qp->recv_cq, qp->qpn);
    qp->cq_lost = false;
}

/* Enters a state: starts, drains, resets or stops the requester and the responder. The attributes
 * are already set. With `tell_drained`, an event is raised when the send queue is drained. */
static void enter(struct rnic_qp *qp, enum rnic_qp_state state, bool tell_drained)
{
    struct rnic_responder_attr resp = qp->resp.attr;
    struct rnic_requester_attr req = qp->req.attr;

    req.qpn = qp->qpn;
    req.svc = resp.svc = qp->service->svc;
    resp.credits = qp->credits;
    if (!qp->service->connected)
        resp.path_mtu = req.path_mtu = qp->pd->rnic->attr.mtu; /* a datagram is limited by the
                                                                * port's MTU (R168) */
    switch (state) {
    case RNIC_QPS_RESET: enter_reset(qp); break;
    case RNIC_QPS_INIT: break;
    case RNIC_QPS_RTR:
        qp->comm_est = false;
        rnic_responder_start(&qp->resp, &resp);
        break;
    case RNIC_QPS_RTS:
        if (qp->state == RNIC_QPS_RTR)
            rnic_requester_start(&qp->req, &req);
        else if (qp->state == RNIC_QPS_SQE)
            rnic_requester_resume(&qp->req); /* SQE to RTS (R192) */
        break;
    case RNIC_QPS_SQD:
        if (qp->state != RNIC_QPS_SQD)
            qp->drained = !tell_drained;
        break;
    case RNIC_QPS_SQE: break; /* modify-QP cannot enter SQE */
    case RNIC_QPS_ERR:
        rnic_responder_stop(&qp->resp);
        rnic_qp_enter_err(qp);
        break;
    }
    qp->state = state;
    /* Executes waiting local operations (bind, LOCAL_INV). Such an operation can fail and move the
     * QP to ERR, so qp->state is set before. */
    if (state == RNIC_QPS_RTS || state == RNIC_QPS_SQD)
        rnic_requester_drain(&qp->req, state == RNIC_QPS_SQD && !RNIC_FAULT(SQD_SENDS));
}

int rnic_qp_modify_mask(struct rnic_qp *qp, const struct rnic_qp_attr *attr, unsigned mask,
                        rnic_time now)
{
    enum rnic_qp_state to = mask & RNIC_QP_STATE ? attr->state : qp->state;
    struct rnic_qp_takes takes;

    rnic_clock(qp->pd->rnic, now);
    if ((unsigned)to > RNIC_QPS_ERR)
        return RNIC_ERR_INVALID;
    if (!rnic_qp_transition(qp->type, qp->state, to, &takes))
        return RNIC_ERR_STATE;
    mask &= ~(unsigned)RNIC_QP_STATE;
    if (((mask & takes.required) != takes.required && !RNIC_FAULT(ATTR_MISSING)) ||
        (mask & ~(takes.required | takes.optional) && !RNIC_FAULT(ATTR_EXTRA)) ||
        !values_valid(qp, attr, mask))
        return RNIC_ERR_INVALID; /* an attribute is missing, not allowed (R187) or out of range */
    /* Responder resources cannot change while responses are pending. */
    if (qp->state == RNIC_QPS_SQD && (mask & RNIC_QP_MAX_DEST_RD_ATOMIC) && qp->resp.responses.cnt)
        return RNIC_ERR_BUSY;
    set_values(qp, attr, mask);
    enter(qp, to, (mask & RNIC_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify);
    rnic_qp_settle(qp);
    return RNIC_OK;
}

/* Modifies a QP. Sets the attributes that the transition requires, and en_sqd_async_notify if the
 * transition allows it. The transition to INIT also sets the optional attributes. */
int rnic_qp_modify(struct rnic_qp *qp, const struct rnic_qp_attr *attr, rnic_time now)
{
    struct rnic_qp_attr whole = *attr;
    struct rnic_qp_takes takes = {0, 0};

    if ((unsigned)attr->state <= RNIC_QPS_ERR)
        rnic_qp_transition(qp->type, qp->state, attr->state, &takes);
    if (attr->state == RNIC_QPS_INIT)
        takes.required |= takes.optional;
    takes.required |= takes.optional & RNIC_QP_EN_SQD_ASYNC_NOTIFY;
    whole.port_num = 1;
    whole.en_sqd_async_notify = true;
    return rnic_qp_modify_mask(qp, &whole, takes.required | RNIC_QP_STATE, now);
}
