/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Table of state transitions and attributes for ibv_modify_qp(). Sources: IBTA vol. 1 10.3.1
 * (C10-20), 11.2.5.3; ibv_modify_qp(3) for the attributes required from RESET to RTS;
 * drivers/infiniband/core/verbs.c of Linux (qp_state_table) for the rest. The table omits path
 * migration, because RoCE does not have it (R197), and the change of queue sizes, which this device
 * does not support.
 */
#include "device/qp_attr.h"

#include "device/device.h"
#include "transport/fault.h"

/* Columns of the attribute table. */
enum service { RC, UC, UD, GSI, XS, XR, RAW, SERVICES };

static enum service service_of(enum rnic_qp_type type)
{
    switch (type) {
    case RNIC_QPT_GSI: return GSI;
    case RNIC_QPT_RC: return RC;
    case RNIC_QPT_UC: return UC;
    case RNIC_QPT_UD: return UD;
    case RNIC_QPT_XRC_SEND: return XS;
    case RNIC_QPT_XRC_RECV: return XR;
    case RNIC_QPT_RAW_PACKET: return RAW;
    }
    return RC;
}

enum {
    CS = RNIC_QP_CUR_STATE,
    EN = RNIC_QP_EN_SQD_ASYNC_NOTIFY,
    AC = RNIC_QP_ACCESS_FLAGS,
    PK = RNIC_QP_PKEY_INDEX,
    PT = RNIC_QP_PORT,
    QK = RNIC_QP_QKEY,
    AV = RNIC_QP_AV,
    MT = RNIC_QP_PATH_MTU,
    TO = RNIC_QP_TIMEOUT,
    RY = RNIC_QP_RETRY_CNT,
    RN = RNIC_QP_RNR_RETRY,
    RP = RNIC_QP_RQ_PSN,
    MX = RNIC_QP_MAX_QP_RD_ATOMIC,
    MR = RNIC_QP_MIN_RNR_TIMER,
    SP = RNIC_QP_SQ_PSN,
    MD = RNIC_QP_MAX_DEST_RD_ATOMIC,
    DQ = RNIC_QP_DEST_QPN,
};

#define INIT (AC | PK | PT)
#define DGRM (QK | PK | PT)
#define PATH (AV | MT | DQ | RP)
#define RESP (MD | MR)
#define RETR (TO | RY | RN | MX)

/* clang-format off */
static const struct {
    enum rnic_qp_state from;
    enum rnic_qp_state to;
    struct rnic_qp_takes takes[SERVICES];
} transitions[] = {
    /* from          to             RC                        UC                  UD              GSI             XRC_SEND                  XRC_RECV, RAW_PACKET */
    { RNIC_QPS_RESET, RNIC_QPS_INIT, {{ INIT, 0 },            { INIT, 0 },        { DGRM, 0 },    { QK | PK, PT }, { INIT, 0 },              { INIT, 0 }, { PT, 0 } } },
    { RNIC_QPS_INIT,  RNIC_QPS_INIT, {{ 0, INIT },            { 0, INIT },        { 0, DGRM },    { 0, DGRM },     { 0, INIT },              { 0, INIT }, { 0, PT } } },
    { RNIC_QPS_INIT,  RNIC_QPS_RTR,  {{ PATH | RESP, AC | PK }, { PATH, AC | PK }, { 0, QK | PK }, { 0, QK | PK },  { PATH, AC | PK },        { PATH | RESP, AC | PK }, { 0, 0 } } },
    { RNIC_QPS_RTR,   RNIC_QPS_RTS,  {{ RETR | SP, CS | AC | MR }, { SP, CS | AC }, { SP, CS | QK }, { SP, CS | QK }, { RETR | SP, CS | AC }, { TO | SP, CS | AC | MR }, { 0, CS } } },
    { RNIC_QPS_RTS,   RNIC_QPS_RTS,  {{ 0, CS | AC | MR },    { 0, CS | AC },     { 0, CS | QK }, { 0, CS | QK },  { 0, CS | AC },           { 0, CS | AC | MR }, { 0, CS } } },
    { RNIC_QPS_RTS,   RNIC_QPS_SQD,  {{ 0, EN },              { 0, EN },          { 0, EN },      { 0, EN },       { 0, EN },                { 0, EN }, { 0, EN } } },
    { RNIC_QPS_SQD,   RNIC_QPS_RTS,  {{ 0, CS | AC | MR },    { 0, CS | AC },     { 0, CS | QK }, { 0, CS | QK },  { 0, CS | AC },           { 0, CS | AC | MR }, { 0, CS } } },
    { RNIC_QPS_SQE,   RNIC_QPS_RTS,  {{ 0, 0 },               { 0, CS | AC },     { 0, CS | QK }, { 0, CS | QK },  { 0, 0 },                 { 0, 0 }, { 0, CS } } },
    { RNIC_QPS_SQD,   RNIC_QPS_SQD,  {{ 0, INIT | AV | RETR | RESP }, { 0, AV | AC | PK }, { 0, QK | PK }, { 0, QK | PK }, { 0, INIT | AV | RETR }, { 0, INIT | AV | TO | RESP }, { 0, 0 } } },
};
/* clang-format on */

bool rnic_qp_transition(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to,
                        struct rnic_qp_takes *takes)
{
    *takes = (struct rnic_qp_takes){0, 0};
    if (to == RNIC_QPS_RESET)
        return true;
    if (to == RNIC_QPS_ERR)
        return from != RNIC_QPS_RESET || RNIC_FAULT(RESET_TO_ERR);
    for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
        if (transitions[i].from == from && transitions[i].to == to) {
            *takes = transitions[i].takes[service_of(type)];
            return true;
        }
    }
    return false;
}

void rnic_qp_query(const struct rnic_qp *qp, struct rnic_qp_attr *attr, struct rnic_qp_init *init)
{
    const struct rnic_responder_attr *resp = &qp->resp.attr;
    const struct rnic_requester_attr *req = &qp->req.attr;

    if (attr)
        *attr = (struct rnic_qp_attr){
            .state = qp->state,
            .cur_state = qp->state,
            .sq_draining = qp->state == RNIC_QPS_SQD && !rnic_requester_drained(&qp->req),
            .port_num = 1,
            .access = qp->access,
            .pkey = qp->pkey,
            .qkey = qp->qkey,
            .av = qp->av,
            .path_mtu = resp->path_mtu,
            .dest_qpn = resp->dest_qpn,
            .rq_psn = rnic_responder_epsn(&qp->resp).v,
            .rq_msn = qp->resp.msn,
            .max_dest_rd_atomic = resp->max_dest_rd_atomic,
            .min_rnr_timer = resp->min_rnr_timer,
            .sq_psn = rnic_requester_psn(&qp->req).v,
            .max_rd_atomic = req->max_rd_atomic,
            .timeout = req->timeout,
            .retry_cnt = req->retry_cnt,
            .rnr_retry = req->rnr_retry,
        };
    if (init)
        *init = (struct rnic_qp_init){
            .type = qp->type,
            .recv_cq = qp->recv_cq,
            .qpn = qp->qpn,
            .srq = qp->srq,
            .xrcd = qp->xrcd,
            .no_credits = !qp->credits,
            .max_recv_wr = qp->resp.rq.max,
            .max_recv_sge = qp->resp.rq.max_sge,
            .send_cq = qp->send_cq,
            .max_send_wr = qp->req.sq.max,
            .max_send_sge = qp->req.sq.max_sge,
            .max_inline = qp->req.sq.max_inline,
            .window = qp->req.window,
            .any_credits = qp->req.ignore_credits,
            .endless_retries = qp->req.endless_retries,
        };
}
