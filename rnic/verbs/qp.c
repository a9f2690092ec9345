/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Queue pairs: creation, modification, queries, destruction. post.c and wr_builder.c post requests.
 */
#include "verbs/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- creating and destroying a QP ------------------------------------------------------------ */

/* Minimum size of inline data. Some programs use inline data without requesting it (rdma_xclient
 * sends 16 bytes), because hardware rounds the size up. */
#define INLINE_GIVEN 64u

/* Returns `cnt`, the requested number of SGEs, or 1 if it is 0, as hardware devices do. */
static uint32_t at_least_one(uint32_t cnt)
{
    return cnt ? cnt : 1;
}

/* Returns the PD of a QP, or NULL: for an XRC target QP, it is optional. */
static struct ibv_pd *qp_pd(const struct ibv_qp_init_attr_ex *attr)
{
    return attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL;
}

/* Checks that the program supplied the attributes that a QP of this type needs, and no unsupported
 * ones. Returns 0 or an errno. */
static int check_init(const struct ibv_qp_init_attr_ex *attr)
{
    const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                           IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if (attr->comp_mask & ~known)
        return EOPNOTSUPP;
    if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags)
        return EOPNOTSUPP;
    bool pd = qp_pd(attr);
    switch (attr->qp_type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_UD: return pd && attr->send_cq && attr->recv_cq ? 0 : EINVAL;
    case IBV_QPT_XRC_SEND: return pd && attr->send_cq && !attr->srq ? 0 : EINVAL;
    case IBV_QPT_XRC_RECV:
        return attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd ? 0 : EINVAL;
    case IBV_QPT_RAW_PACKET: return pd && attr->send_cq && attr->recv_cq && !attr->srq ? 0 : EINVAL;
    case IBV_QPT_DRIVER: return EOPNOTSUPP;
    default: return EINVAL;
    }
}

/* Returns 0, or an errno if this process may not create raw packet QPs. As in Linux, they need the
 * same right as a packet socket. */
static int check_raw(struct ibv_context *context)
{
    static bool warned;
    if (!vctx_of(context)->hca->shm)
        return -rnic_live_raw_permitted();
    if (!warned)
        verbs_warn("%s: raw packet QPs require --wire pcap, because frames in shared memory do not "
                   "pass through an interface",
                   context->device->name);
    warned = true;
    return EOPNOTSUPP;
}

/* Returns ENODEV if the parent of this process created one of the objects that the QP will use. */
static int check_owners(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
    int result = 0;
    if (attr->qp_type == IBV_QPT_XRC_RECV)
        return vctx_check_owner(context, vxrcd_of(attr->xrcd)->hca);
    result = vctx_check_owner(context, vcq_of(attr->send_cq)->hca);
    if (result == 0 && attr->recv_cq)
        result = vctx_check_owner(context, vcq_of(attr->recv_cq)->hca);
    if (result == 0 && attr->srq)
        result = vctx_check_owner(context, vsrq_of(attr->srq)->hca);
    return result;
}

/* Creates a PD for an XRC target QP, because the program supplies none. */
static int create_hidden_pd(struct ibv_context *context, struct vqp *qp)
{
    int result = verbs_errno(rnic_pd_new(vctx_lock(context), &qp->hidden_pd));
    vctx_unlock(context);
    return result;
}

/* Creates the device's QP with a QPN allocated to this process. Called with the device's lock. */
static int create_rnic(struct vctx *ctx, struct rnic_pd *pd, struct rnic_qp_init *init,
                       struct vqp *qp)
{
    init->qpn = rnic_live_qpn_get(ctx->hca->live);
    if (init->qpn == 0)
        return ENOMEM;
    int result = verbs_errno(rnic_qp_new(pd, init, &qp->rnic));
    if (result == 0 && !rnic_map_add(&ctx->hca->qps, (uintptr_t)qp->rnic, qp)) {
        rnic_qp_del(qp->rnic);
        result = ENOMEM;
    }
    if (result != 0)
        rnic_live_qpn_put(ctx->hca->live, init->qpn);
    return result;
}

struct ibv_qp *vqp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    struct ibv_qp_cap *cap = &attr->cap;
    struct vqp *qp = NULL;
    int result = check_init(attr);
    if (result == 0)
        result = qp_pd(attr) ? vpd_renew(attr->pd) : vctx_renew(context);
    if (result == 0)
        result = check_owners(context, attr);
    if (result == 0 && attr->qp_type == IBV_QPT_RAW_PACKET)
        result = check_raw(context);
    if (result != 0)
        goto fail;
    qp = calloc(1, sizeof *qp);
    result = ENOMEM;
    if (!qp)
        goto fail;
    bool sends = attr->qp_type != IBV_QPT_XRC_RECV;
    bool receives = sends && attr->qp_type != IBV_QPT_XRC_SEND && !attr->srq;
    cap->max_send_sge = sends ? at_least_one(cap->max_send_sge) : 0;
    cap->max_recv_sge = receives ? at_least_one(cap->max_recv_sge) : 0;
    if (!sends)
        cap->max_send_wr = cap->max_inline_data = 0;
    else if (cap->max_inline_data < INLINE_GIVEN)
        cap->max_inline_data = INLINE_GIVEN;
    if (!receives)
        cap->max_recv_wr = 0;
    struct rnic_qp_init init = {
        .type = (enum rnic_qp_type)attr->qp_type,
        .send_cq = sends ? vcq_of(attr->send_cq)->rnic : NULL,
        .recv_cq = sends && attr->recv_cq ? vcq_of(attr->recv_cq)->rnic : NULL,
        .srq = attr->srq ? vsrq_of(attr->srq)->rnic : NULL,
        .xrcd = sends ? NULL : vxrcd_of(attr->xrcd)->domain->rnic,
        .max_send_wr = cap->max_send_wr,
        .max_recv_wr = cap->max_recv_wr,
        .max_send_sge = cap->max_send_sge,
        .max_recv_sge = cap->max_recv_sge,
        .max_inline = cap->max_inline_data,
    };
    qp->init = (struct ibv_qp_init_attr){
        .qp_context = attr->qp_context,
        .send_cq = attr->send_cq,
        .recv_cq = attr->recv_cq,
        .srq = attr->srq,
        .cap = *cap,
        .qp_type = attr->qp_type,
        .sq_sig_all = attr->sq_sig_all,
    };
    if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
        (result = wr_builder_init(qp, attr->send_ops_flags)) != 0)
        goto fail;
    if (!sends && (result = create_hidden_pd(context, qp)) != 0)
        goto fail;
    vctx_lock(context);
    result = create_rnic(vctx_of(context), sends ? vpd_rnic(attr->pd) : qp->hidden_pd, &init, qp);
    if (result == 0)
        qp->domain = vpd_hold(qp_pd(attr));
    else if (qp->hidden_pd)
        rnic_pd_del(qp->hidden_pd);
    vctx_unlock(context);
    if (result != 0)
        goto fail;
    struct ibv_qp *ibv = &qp->ibv;
    qp->hca = vctx_of(context)->hca;
    ibv->context = context;
    ibv->qp_context = attr->qp_context;
    ibv->pd = qp_pd(attr);
    ibv->send_cq = attr->send_cq;
    ibv->recv_cq = attr->recv_cq;
    ibv->srq = attr->srq;
    ibv->qp_num = rnic_qp_qpn(qp->rnic);
    ibv->handle = ibv->qp_num;
    ibv->state = IBV_QPS_RESET;
    ibv->qp_type = attr->qp_type;
    pthread_mutex_init(&ibv->mutex, NULL);
    pthread_cond_init(&ibv->cond, NULL);
    return ibv;
fail:
    if (qp)
        wr_builder_free(qp);
    free(qp);
    errno = result;
    return NULL;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp_init_attr_ex ex = {
        .qp_context = attr->qp_context,
        .send_cq = attr->send_cq,
        .recv_cq = attr->recv_cq,
        .srq = attr->srq,
        .cap = attr->cap,
        .qp_type = attr->qp_type,
        .sq_sig_all = attr->sq_sig_all,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
        .pd = pd,
    };
    struct ibv_qp *qp = vqp_create_ex(pd->context, &ex);
    if (qp)
        attr->cap = ex.cap;
    return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    return vqp_of(qp)->builder ? &vqp_of(qp)->ex : NULL;
}

/* vhca_linger() waits for at most this number of quiet times (RNIC_LINGER). Without a maximum,
 * packets of other QPs could prolong the wait forever. */
#define LINGER_SPANS 20u

void vhca_linger(struct vhca *hca)
{
    const struct timespec nap = {.tv_nsec = 5 * 1000000};
    const uint64_t end = rnic_live_now() + hca->linger * LINGER_SPANS * 1000000;
    struct rnic_counters now;
    uint64_t before = 0;
    for (uint64_t quiet = 0; quiet < hca->linger && rnic_live_now() < end; quiet += 5) {
        rnic_counters_get(rnic_live_lock(hca->live), &now);
        bool done = now.rx_packets == hca->lingered;
        rnic_live_unlock(hca->live);
        if (done)
            return;
        if (now.rx_packets != before)
            quiet = 0;
        before = now.rx_packets;
        nanosleep(&nap, NULL);
    }
    rnic_live_lock(hca->live);
    hca->lingered = before;
    rnic_live_unlock(hca->live);
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
    if (!ibv) /* qperf's server passes NULL. A crash of the server would leave its client without a
               * DREP. */
        return EINVAL;
    struct vqp *qp = vqp_of(ibv);
    struct ibv_context *context = ibv->context;
    struct vhca *hca = qp->hca;
    vhca_linger(hca);
    vhca_lock_settled(hca);
    struct rnic_qp *rnic = qp->rnic;
    int result = verbs_errno(rnic_qp_del(rnic));
    if (result == 0) {
        rnic_map_del(&hca->qps, (uintptr_t)rnic);
        timeline_qp_gone(hca->timeline, ibv->qp_num);
        rnic_live_qpn_put(hca->live, ibv->qp_num);
        vpd_release(qp->domain);
        if (qp->hidden_pd)
            rnic_pd_del(qp->hidden_pd);
    }
    vhca_unlock(hca);
    if (result != 0)
        return result;
    verbs_wait_acked(&ibv->mutex, &ibv->cond, &ibv->events_completed,
                     evq_purge(&vctx_of(context)->async, qp, &qp->async_reported));
    wr_builder_free(qp);
    pthread_mutex_destroy(&ibv->mutex);
    pthread_cond_destroy(&ibv->cond);
    free(qp);
    return 0;
}

void vqp_drop(struct vhca *hca, struct vqp *qp)
{
    uint8_t gid[16];
    timeline_qp_gone(hca->timeline, qp->ibv.qp_num);
    while (rnic_mcast_of(qp->rnic, gid)) {
        rnic_mcast_detach(qp->rnic, gid);
        rnic_live_leave(hca->live, gid);
    }
    if (rnic_qp_del(qp->rnic) == 0) {
        rnic_live_qpn_put(hca->live, qp->ibv.qp_num);
    } else { /* the QP stays in RESET, because 2A windows are bound to it */
        const struct rnic_qp_attr reset = {.state = RNIC_QPS_RESET};
        rnic_qp_modify_mask(qp->rnic, &reset, RNIC_QP_STATE, rnic_live_now());
    }
}

/* ---- modifying and querying attributes ------------------------------------------------------- */

/* Converts the attributes in the mask, except for the address vector. */
static struct rnic_qp_attr to_rnic_attr(const struct ibv_qp_attr *from, int mask)
{
    struct rnic_qp_attr to = {
        .state = (enum rnic_qp_state)from->qp_state,
        .cur_state = (enum rnic_qp_state)from->cur_qp_state,
        .en_sqd_async_notify = from->en_sqd_async_notify,
        .port_num = from->port_num,
        .access = from->qp_access_flags,
        .pkey = 0xFFFF,
        .qkey = from->qkey,
        .dest_qpn = from->dest_qp_num & 0xFFFFFF,
        .rq_psn = from->rq_psn & 0xFFFFFF,
        .max_dest_rd_atomic = from->max_dest_rd_atomic,
        .min_rnr_timer = from->min_rnr_timer,
        .sq_psn = from->sq_psn & 0xFFFFFF,
        .max_rd_atomic = from->max_rd_atomic,
        .timeout = from->timeout,
        .retry_cnt = from->retry_cnt,
        .rnr_retry = from->rnr_retry,
    };
    if (mask & IBV_QP_PATH_MTU)
        to.path_mtu = 128u << from->path_mtu;
    return to;
}

/* Returns whether the state change stops a QP that may still have to answer requests. */
static bool stops_answering(const struct ibv_qp *ibv, const struct ibv_qp_attr *attr, int mask)
{
    return mask & IBV_QP_STATE &&
           (attr->qp_state == IBV_QPS_ERR || attr->qp_state == IBV_QPS_RESET) &&
           ibv->state >= IBV_QPS_RTR && ibv->state <= IBV_QPS_SQE;
}

/* Returns the attributes that an XRC QP ignores. An XRC QP has only the requester or responder of
 * an RC QP, but programs such as perftest set all attributes. Linux ignores the attributes of the
 * role that the QP lacks. */
static int xrc_ignored_attrs(enum ibv_qp_type type)
{
    switch (type) {
    case IBV_QPT_XRC_SEND: return IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    case IBV_QPT_XRC_RECV: return IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
    default: return 0;
    }
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
    mask &= ~xrc_ignored_attrs(ibv->qp_type);
    struct vqp *qp = vqp_of(ibv);
    int result = vctx_check_owner(ibv->context, qp->hca);
    if (result != 0)
        return result;
    if (mask & IBV_QP_RATE_LIMIT)
        return EOPNOTSUPP;
    if ((mask & IBV_QP_PKEY_INDEX && attr->pkey_index != 0) ||
        (mask & IBV_QP_PATH_MTU && (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096)))
        return EINVAL;
    /* RoCE has one path, and every QP uses it (R197): setting MIGRATED changes nothing. */
    if (mask & IBV_QP_PATH_MIG_STATE && attr->path_mig_state == IBV_MIG_MIGRATED)
        mask &= ~IBV_QP_PATH_MIG_STATE;
    struct rnic_qp_attr to = to_rnic_attr(attr, mask);
    if (mask & IBV_QP_AV) {
        result = vah_path(ibv->context, &attr->ah_attr, &to.av);
        if (result != 0)
            return result;
    }
    if (stops_answering(ibv, attr, mask))
        vhca_linger(qp->hca);
    vhca_lock_settled(qp->hca);
    result = verbs_errno(rnic_qp_modify_mask(qp->rnic, &to, (unsigned)mask, rnic_live_now()));
    if (result == 0) {
        if (mask & IBV_QP_STATE)
            ibv->state = attr->qp_state;
        if (mask & IBV_QP_AV)
            qp->ah_attr = attr->ah_attr;
    }
    vhca_unlock(qp->hca);
    return result;
}

static enum ibv_mtu mtu_code(uint32_t bytes)
{
    enum ibv_mtu code = IBV_MTU_256;
    while (code < IBV_MTU_4096 && 128u << code < bytes)
        code++;
    return code;
}

int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    struct vqp *qp = vqp_of(ibv);
    struct rnic_qp_attr is;
    vhca_lock(qp->hca);
    rnic_qp_query(qp->rnic, &is, NULL);
    if (mask & IBV_QP_STATE) /* the mask is used only for ibv->state: *attr gets all attributes */
        ibv->state = (enum ibv_qp_state)is.state;
    *attr = (struct ibv_qp_attr){.ah_attr = qp->ah_attr};
    vhca_unlock(qp->hca);
    attr->qp_state = attr->cur_qp_state = (enum ibv_qp_state)is.state;
    attr->path_mtu = mtu_code(is.path_mtu);
    attr->path_mig_state = IBV_MIG_MIGRATED;
    attr->qkey = is.qkey;
    attr->rq_psn = is.rq_psn;
    attr->sq_psn = is.sq_psn;
    attr->dest_qp_num = is.dest_qpn;
    attr->qp_access_flags = is.access;
    attr->cap = qp->init.cap;
    attr->en_sqd_async_notify = is.en_sqd_async_notify;
    attr->sq_draining = is.sq_draining;
    attr->max_rd_atomic = is.max_rd_atomic;
    attr->max_dest_rd_atomic = is.max_dest_rd_atomic;
    attr->min_rnr_timer = is.min_rnr_timer;
    attr->port_num = 1;
    attr->timeout = is.timeout;
    attr->retry_cnt = is.retry_cnt;
    attr->rnr_retry = is.rnr_retry;
    if (init)
        *init = qp->init;
    return 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
    (void)qp, (void)op, (void)flags;
    /* No order is guaranteed: packets of a message are written in PSN order, but memcpy() may store
     * the bytes of a payload in any order. */
    return 0;
}

/* Enhanced connection establishment (ECE) is vendor-specific. librdmacm queries each QP for it. */
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    if (!ece->vendor_id) { /* vendor 0 ("none") is accepted */
        errno = 0;
        return 0;
    }
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    *ece = (struct ibv_ece){0};
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}
