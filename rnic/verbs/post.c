/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Posting: ibv_post_send() and ibv_post_recv(). A list is posted up to the first invalid request;
 * that one and later ones are not posted (ibv_post_send(3)). */
#include "verbs/objects.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>

/* SGEs are passed to the device without conversion. */
static_assert(sizeof(struct rnic_sge) == sizeof(struct ibv_sge) &&
                  offsetof(struct rnic_sge, addr) == offsetof(struct ibv_sge, addr) &&
                  offsetof(struct rnic_sge, len) == offsetof(struct ibv_sge, length) &&
                  offsetof(struct rnic_sge, lkey) == offsetof(struct ibv_sge, lkey),
              "struct rnic_sge and struct ibv_sge have the same layout");

/* Converts a send request. Returns 0 or an errno. */
static int send_wr_of(const struct vqp *qp, const struct ibv_send_wr *from, struct rnic_send_wr *to)
{
    *to = (struct rnic_send_wr){
        .wr_id = from->wr_id,
        .opcode = (enum rnic_wr_opcode)from->opcode,
        .flags = from->send_flags | (qp->init.sq_sig_all ? RNIC_SEND_SIGNALED : 0),
        .sge = (const struct rnic_sge *)(const void *)from->sg_list,
        .sge_cnt = (uint32_t)from->num_sge,
        .srqn = qp->init.qp_type == IBV_QPT_XRC_SEND ? from->qp_type.xrc.remote_srqn : 0,
    };
    if (from->num_sge < 0 || (from->num_sge > 0 && !from->sg_list))
        return EINVAL;
    switch (from->opcode) {
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        to->imm = be32toh(from->imm_data);
        __attribute__((fallthrough));
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_WRITE:
        to->remote_addr = from->wr.rdma.remote_addr;
        to->rkey = from->wr.rdma.rkey;
        return 0;
    case IBV_WR_SEND_WITH_IMM: to->imm = be32toh(from->imm_data); __attribute__((fallthrough));
    case IBV_WR_SEND:
        if (qp->init.qp_type == IBV_QPT_UD) {
            to->ah =
                from->wr.ud.ah ? ((const struct vah *)(const void *)from->wr.ud.ah)->rnic : NULL;
            to->remote_qpn = from->wr.ud.remote_qpn;
            to->remote_qkey = from->wr.ud.remote_qkey;
        }
        return 0;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV: to->invalidate_key = from->invalidate_rkey; return 0;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        to->remote_addr = from->wr.atomic.remote_addr;
        to->rkey = from->wr.atomic.rkey;
        to->compare_add = from->wr.atomic.compare_add;
        to->swap = from->wr.atomic.swap;
        return 0;
    case IBV_WR_BIND_MW: /* type 2 window; type 1 windows are bound by ibv_bind_mw() */
        if (!from->bind_mw.mw || from->bind_mw.mw->type != IBV_MW_TYPE_2)
            return EINVAL;
        to->mw = vmw_bind_of(from->bind_mw.mw, from->bind_mw.rkey, &from->bind_mw.bind_info);
        return 0;
    default: return EINVAL;
    }
}

int vqp_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct vqp *qp = vqp_of(ibv);
    struct timeline *timeline = qp->hca->timeline;
    uint64_t called = timeline ? rnic_live_now() : 0;
    int result = vctx_check_owner(ibv->context, qp->hca);
    if (result != 0) {
        *bad = wr;
        return result;
    }
    vhca_lock(qp->hca);
    timeline_posting(timeline, called);
    for (; wr; wr = wr->next) {
        struct rnic_send_wr to;
        result = send_wr_of(qp, wr, &to);
        if (result == 0)
            result = verbs_errno(rnic_post_send(qp->rnic, &to));
        if (result != 0)
            break;
    }
    vhca_unlock(qp->hca);
    if (result != 0)
        *bad = wr;
    return result;
}

int vqp_recv_wr_of(const struct ibv_recv_wr *from, struct rnic_recv_wr *to)
{
    *to = (struct rnic_recv_wr){
        .wr_id = from->wr_id,
        .sge = (const struct rnic_sge *)(const void *)from->sg_list,
        .sge_cnt = (uint32_t)from->num_sge,
    };
    return from->num_sge < 0 || (from->num_sge > 0 && !from->sg_list) ? EINVAL : 0;
}

int vqp_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct vqp *qp = vqp_of(ibv);
    int result = vctx_check_owner(ibv->context, qp->hca);
    if (result != 0) {
        *bad = wr;
        return result;
    }
    vhca_lock(qp->hca);
    for (; wr; wr = wr->next) {
        struct rnic_recv_wr to;
        result = vqp_recv_wr_of(wr, &to);
        if (result == 0)
            result = verbs_errno(rnic_post_recv(qp->rnic, &to));
        if (result != 0)
            break;
    }
    vhca_unlock(qp->hca);
    if (result != 0)
        *bad = wr;
    return result;
}
