/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* QP: its states and attributes. */
#include "device/av.h"
#include "device/device.h"
#include "wire/codes.h"

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

/* C10-20, R183. Rows are the states left, columns the states entered. Only the device enters SQE
 * (R192). */
/* clang-format off */
static const bool transitions[RNIC_QPS_ERR + 1][RNIC_QPS_ERR + 1] = {
    /*                                     RESET  INIT   RTR    RTS    SQD    SQE    ERR */
    [RNIC_QPS_RESET] =                   { true,  true,  false, false, false, false, false },
    [RNIC_QPS_INIT]  =                   { true,  true,  true,  false, false, false, true  },
    [RNIC_QPS_RTR]   =                   { true,  false, false, true,  false, false, true  },
    [RNIC_QPS_RTS]   =                   { true,  false, false, true,  true,  false, true  },
    [RNIC_QPS_SQD]   =                   { true,  false, false, true,  true,  false, true  },
    [RNIC_QPS_SQE]   =                   { true,  false, false, true,  false, false, true  },
    [RNIC_QPS_ERR]   =                   { true,  false, false, false, false, false, true  },
};
/* clang-format on */

/* The part of a transition that datagrams have: no peer (R186). */
static void enter_rtr_datagram(struct rnic_qp *qp)
{
    const struct rnic_responder_attr resp = {
        .path_mtu = qp->pd->rnic->attr.mtu, .pkey = qp->pkey, .qkey = qp->qkey};

    rnic_responder_start(&qp->resp, &resp);
}

static void enter_rts_datagram(struct rnic_qp *qp, const struct rnic_qp_attr *attr)
{
    const struct rnic_requester_attr req = {.path_mtu = qp->pd->rnic->attr.mtu,
                                            .pkey = qp->pkey,
                                            .qpn = qp->qpn,
                                            .qkey = qp->qkey,
                                            .sq_psn = roce_psn_of(attr->sq_psn)};

    rnic_requester_start(&qp->req, &req);
}

static bool rtr_valid(const struct rnic *rnic, const struct rnic_qp_attr *attr)
{
    return rnic_av_valid(rnic, &attr->av) && !rnic_gid_is_multicast(attr->av.dgid) &&
           roce_mtu_code(attr->path_mtu) != 0 && attr->dest_qpn <= 0xFFFFFF &&
           attr->rq_psn <= ROCE_PSN_MASK && attr->rq_msn <= ROCE_PSN_MASK &&
           attr->max_dest_rd_atomic <= RNIC_RD_ATOMIC_MAX && attr->min_rnr_timer < ROCE_RNR_CODES;
}

static void enter_rtr(struct rnic_qp *qp, const struct rnic_qp_attr *attr)
{
    const struct rnic_responder_attr resp = {
        .access = qp->access,
        .path_mtu = attr->path_mtu,
        .dest_qpn = attr->dest_qpn,
        .pkey = qp->pkey,
        .rq_psn = roce_psn_of(attr->rq_psn),
        .rq_msn = attr->rq_msn,
        .max_dest_rd_atomic = attr->max_dest_rd_atomic,
        .min_rnr_timer = attr->min_rnr_timer,
    };

    qp->av = attr->av;
    rnic_av_resolve(&qp->av);
    if (qp->av.udp_sport == 0)
        qp->av.udp_sport = rnic_av_sport(qp->av.flow, qp->qpn, attr->dest_qpn);
    if (rnic_ecn_on(&qp->pd->rnic->attr.ecn) && (qp->av.tclass & 3) == 0)
        qp->av.tclass |= 2; /* else no switch would mark it (R005) */
    qp->encap = rnic_gid_encap(&qp->pd->rnic->attr.gid[qp->av.sgid_idx]);
    rnic_av_envelope(qp->pd->rnic, &qp->av, &qp->env);
    qp->comm_est = false;
    rnic_responder_start(&qp->resp, &resp);
}

static bool rts_valid(const struct rnic_qp_attr *attr)
{
    return attr->sq_psn <= ROCE_PSN_MASK && attr->max_rd_atomic <= RNIC_RD_ATOMIC_MAX &&
           attr->timeout < 32 && attr->retry_cnt <= RNIC_RETRY_MAX &&
           attr->rnr_retry <= RNIC_RNR_RETRY_FOREVER; /* R194 */
}

static void enter_rts(struct rnic_qp *qp, const struct rnic_qp_attr *attr)
{
    const struct rnic_requester_attr req = {
        .path_mtu = qp->resp.attr.path_mtu,
        .dest_qpn = qp->resp.attr.dest_qpn,
        .pkey = qp->pkey,
        .sq_psn = roce_psn_of(attr->sq_psn),
        .max_rd_atomic = attr->max_rd_atomic,
        .timeout = attr->timeout,
        .retry_cnt = attr->retry_cnt,
        .rnr_retry = attr->rnr_retry,
    };

    rnic_requester_start(&qp->req, &req);
}

void rnic_qp_enter_err(struct rnic_qp *qp)
{
    qp->state = RNIC_QPS_ERR;
    rnic_requester_flush(&qp->req);
    rnic_responder_flush(&qp->resp);
}

int rnic_qp_modify(struct rnic_qp *qp, const struct rnic_qp_attr *attr, rnic_time now)
{
    rnic_clock(qp->pd->rnic, now);
    if ((unsigned)attr->state > RNIC_QPS_ERR)
        return RNIC_ERR_INVALID;
    if (!transitions[qp->state][attr->state])
        return RNIC_ERR_STATE;
    switch (attr->state) {
    case RNIC_QPS_RESET:
        rnic_responder_reset(&qp->resp); /* R190 */
        rnic_requester_reset(&qp->req);
        rnic_cc_reset(qp);
        qp->cq_lost = false;
        break;
    case RNIC_QPS_INIT:
        if ((qp->service->connected && (attr->access & ~RNIC_ACCESS_ALL)) ||
            !rnic_pkey_valid(attr->pkey))
            return RNIC_ERR_INVALID;
        qp->access = attr->access;
        qp->qkey = qp->type == RNIC_QPT_GSI ? ROCE_QKEY_GSI : attr->qkey;
        qp->pkey = attr->pkey;
        break;
    case RNIC_QPS_RTR:
        if (!qp->service->connected) {
            enter_rtr_datagram(qp);
            break;
        }
        if (!rtr_valid(qp->pd->rnic, attr))
            return RNIC_ERR_INVALID;
        enter_rtr(qp, attr);
        break;
    case RNIC_QPS_RTS:
        if (qp->state == RNIC_QPS_SQE) {
            rnic_requester_resume(&qp->req);
        } else if (qp->state == RNIC_QPS_RTR && !qp->service->connected) {
            if (attr->sq_psn > ROCE_PSN_MASK)
                return RNIC_ERR_INVALID;
            enter_rts_datagram(qp, attr);
        } else if (qp->state == RNIC_QPS_RTR) {
            if (!rts_valid(attr))
                return RNIC_ERR_INVALID;
            enter_rts(qp, attr);
        }
        rnic_requester_drain(&qp->req, false);
        break;
    case RNIC_QPS_SQD:
        if (qp->state != RNIC_QPS_SQD)
            qp->drained = false;
        rnic_requester_drain(&qp->req, true);
        break;
    case RNIC_QPS_SQE: break; /* no row enters it */
    case RNIC_QPS_ERR:
        rnic_responder_stop(&qp->resp);
        rnic_qp_enter_err(qp);
        break;
    }
    qp->state = attr->state;
    rnic_qp_settle(qp);
    return RNIC_OK;
}
