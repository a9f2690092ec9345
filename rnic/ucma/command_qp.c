/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* QP attribute commands: compute the attributes that rdma_init_qp_attr(3) returns for each QP
 * state. */
#include "ucma/command.h"

/* Returns the RNR NAK timer code for this QP. If the peer retries forever (RNR retry count 7), the
 * time is 0.64 ms. Otherwise the peer could give up on a busy machine, where several times 0.64 ms
 * may pass before the receiver runs. So the time is then 655 ms, which Linux always uses
 * (core/cm.c, cm_init_qp_rtr_attr). The function uses the RNR retry count of the REQ, because the
 * REP is not sent yet. REQ and REP usually contain the same count. */
static uint8_t rnr_timer(const struct uc_id *id)
{
    enum { MS_655 = 0, MS_0_64 = 12, FOR_EVER = 7 };
    return rnic_cm_id_req(id->cm)->rnr_retry_count == FOR_EVER ? MS_0_64 : MS_655;
}

static void qp_init(const struct uc_id *id, const struct rnic_cm_qp *qp,
                    struct ib_uverbs_qp_attr *attr)
{
    attr->qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    attr->port_num = 1;
    if (uc_is_ud(id)) {
        attr->qp_attr_mask |= IBV_QP_QKEY;
        attr->qkey = UCMA_UDP_QKEY;
        return;
    }
    attr->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
    if (!id->cm)
        return;
    attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (qp->max_dest_rd_atomic)
        attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

static void qp_rtr(const struct uc_id *id, const struct rnic_cm_qp *qp,
                   struct ib_uverbs_qp_attr *attr)
{
    attr->qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    uc_ah_of(id, &attr->ah_attr);
    attr->path_mtu = qp->mtu;
    attr->dest_qp_num = qp->dest_qpn;
    attr->rq_psn = id->psn; /* starting PSN in the REQ or REP that this end sent */
    if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV) {
        attr->qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        attr->max_dest_rd_atomic = qp->max_dest_rd_atomic;
        attr->min_rnr_timer = rnr_timer(id);
    }
}

static void qp_rts(const struct uc_id *id, const struct rnic_cm_qp *qp,
                   struct ib_uverbs_qp_attr *attr)
{
    attr->qp_attr_mask |= IBV_QP_SQ_PSN;
    attr->sq_psn = qp->sq_psn;
    if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND) {
        attr->qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        attr->retry_cnt = qp->retry_cnt;
        attr->rnr_retry = qp->rnr_retry;
        attr->max_rd_atomic = qp->max_rd_atomic;
    }
    if (id->qp_type != IBV_QPT_UC) {
        attr->qp_attr_mask |= IBV_QP_TIMEOUT;
        attr->timeout = id->ack_timeout ? id->ack_timeout : qp->timeout;
    }
}

int uc_init_qp_attr(const struct uc_call *call)
{
    const struct rdma_ucm_init_qp_attr *in = &call->in->init_qp_attr;
    const struct uc_id *id = uc_id_get(call->file, in->id);
    struct ib_uverbs_qp_attr attr = {.qp_attr_mask = IBV_QP_STATE, .qp_state = in->qp_state};
    struct rnic_cm_qp qp = {.dest_qpn = 0};
    struct rnic_cm_path path;
    if (!id)
        return -ENOENT;
    if (!id->port || (in->qp_state != IBV_QPS_INIT && (!id->cm || uc_is_ud(id))))
        return -EINVAL;
    uc_path_of(id, &path);
    if (id->cm && !uc_is_ud(id))
        rnic_cm_qp_of(id->cm, path.ack_delay, &qp);
    switch (in->qp_state) {
    case IBV_QPS_INIT: qp_init(id, &qp, &attr); break;
    case IBV_QPS_RTR: qp_rtr(id, &qp, &attr); break;
    case IBV_QPS_RTS: qp_rts(id, &qp, &attr); break;
    default: return -EINVAL;
    }
    return uc_answer(call, in->response, &attr, sizeof attr);
}
