/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Completion queues. A program that finds its CQ empty drives the device in its own thread
 * (rnic_live_drive()), which gives the lowest latency. */
#include "verbs/objects.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the depth of a CQ: the next power of two above the requested depth, as mlx5 and others
 * do; ibv_cq.cqe reports it. perftest's latency tests request one entry, but one ACK after a loss
 * completes two of their sends. The device rejects depths above its limit. */
static uint32_t round_up_cqe(struct rnic *rnic, uint32_t cqe)
{
    struct rnic_limits max;
    uint32_t cnt = 1;
    rnic_limits_get(rnic, &max);
    while (cnt <= cqe && cnt <= max.max_cqe / 2)
        cnt *= 2;
    return cnt > cqe ? cnt : cqe;
}

static struct vcq *create_cq(struct ibv_context *context, uint32_t cqe, void *cq_context,
                             struct ibv_comp_channel *channel, uint32_t comp_vector)
{
    struct vcq *cq = NULL;
    int result = vctx_renew(context);
    if (result != 0)
        goto fail;
    result = EINVAL;
    if (comp_vector >= (uint32_t)context->num_comp_vectors || cqe == 0)
        goto fail;
    cq = calloc(1, sizeof *cq);
    result = ENOMEM;
    if (!cq)
        goto fail;
    struct vhca *hca = vctx_of(context)->hca;
    struct rnic *rnic = vctx_lock(context);
    cqe = round_up_cqe(rnic, cqe);
    result = verbs_errno(rnic_cq_new(rnic, cqe, &cq->rnic));
    if (result == 0 && !rnic_map_add(&hca->cqs, (uintptr_t)cq->rnic, cq)) {
        rnic_cq_del(cq->rnic);
        result = ENOMEM;
    }
    if (result == 0 && channel)
        channel->refcnt++;
    vctx_unlock(context);
    if (result != 0)
        goto fail;
    cq->hca = hca;
    cq->ibv.context = context;
    cq->ibv.channel = channel;
    cq->ibv.cq_context = cq_context;
    cq->ibv.cqe = (int)cqe;
    pthread_mutex_init(&cq->ibv.mutex, NULL);
    pthread_cond_init(&cq->ibv.cond, NULL);
    pthread_mutex_init(&cq->poll_lock, NULL);
    return cq;
fail:
    free(cq);
    errno = result;
    return NULL;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int comp_vector)
{
    if (cqe <= 0 || comp_vector < 0) {
        errno = EINVAL;
        return NULL;
    }
    struct vcq *cq = create_cq(context, (uint32_t)cqe, cq_context, channel, (uint32_t)comp_vector);
    return cq ? &cq->ibv : NULL;
}

struct ibv_cq_ex *vcq_create_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
    const uint64_t known = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                           IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    const uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
    if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)) {
        errno = EINVAL;
        return NULL;
    }
    if (attr->wc_flags & ~known || flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct vcq *cq =
        create_cq(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector);
    if (!cq)
        return NULL;
    cq->wc_flags = attr->wc_flags;
    cq->single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
    vctx_lock(context);
    cq->domain = vpd_hold(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? attr->parent_domain : NULL);
    vctx_unlock(context);
    vcq_ex_init(cq);
    return &cq->ex;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
    struct vcq *cq = vcq_of(ibv);
    struct ibv_context *context = ibv->context;
    struct vchannel *channel = vchannel_of(ibv->channel);
    vhca_lock(cq->hca);
    struct rnic_cq *rnic = cq->rnic;
    int result = verbs_errno(rnic_cq_del(rnic));
    if (result == 0) {
        rnic_map_del(&cq->hca->cqs, (uintptr_t)rnic);
        vpd_release(cq->domain);
        if (channel)
            channel->ibv.refcnt--;
    }
    vhca_unlock(cq->hca);
    if (result != 0)
        return result;
    if (channel)
        verbs_wait_acked(&ibv->mutex, &ibv->cond, &ibv->comp_events_completed,
                         evq_purge(&channel->events, cq, &cq->comp_reported));
    verbs_wait_acked(&ibv->mutex, &ibv->cond, &ibv->async_events_completed,
                     evq_purge(&vctx_of(context)->async, cq, &cq->async_reported));
    pthread_mutex_destroy(&ibv->mutex);
    pthread_cond_destroy(&ibv->cond);
    pthread_mutex_destroy(&cq->poll_lock);
    free(cq);
    return 0;
}

int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
    if (cqe <= 0)
        return EINVAL;
    uint32_t cnt = round_up_cqe(vhca_lock(vcq_of(ibv)->hca), (uint32_t)cqe);
    int result = verbs_errno(rnic_cq_resize(vcq_of(ibv)->rnic, cnt));
    if (result == 0)
        ibv->cqe = (int)cnt;
    vhca_unlock(vcq_of(ibv)->hca);
    return result;
}

int vcq_modify(struct ibv_cq *ibv, struct ibv_modify_cq_attr *attr)
{
    int result = vctx_check_owner(ibv->context, vcq_of(ibv)->hca);
    if (result != 0)
        return result;
    if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
        return EINVAL;
    vhca_lock(vcq_of(ibv)->hca);
    result = verbs_errno(rnic_cq_moderate(vcq_of(ibv)->rnic, attr->moderate.cq_count,
                                          (rnic_time)attr->moderate.cq_period * 1000));
    vhca_unlock(vcq_of(ibv)->hca);
    return result;
}

int vcq_req_notify(struct ibv_cq *ibv, int solicited_only)
{
    int result = vctx_check_owner(ibv->context, vcq_of(ibv)->hca);
    if (result != 0)
        return result;
    vhca_lock(vcq_of(ibv)->hca);
    rnic_cq_arm(vcq_of(ibv)->rnic, solicited_only);
    rnic_live_leave_poll(vcq_of(ibv)->hca->live, true);
    vhca_unlock(vcq_of(ibv)->hca);
    return 0;
}

/* ---- polling completions --------------------------------------------------------------------- */

/* Returns ibv_wc.sl. A17.4.5.1 requires a flag for the network type of a datagram, but struct
 * ibv_wc has no member for it. RoCE has no service level, so mlx5 uses this member and UCX reads it
 * (uct_ud_iface_check_grh): bit 3 means UDP, bits 2..0 are 2 for IPv4 and 1 for IPv6. */
uint8_t vcq_sl(const struct rnic_wc *wc)
{
    static const uint8_t sl[] = {
        [RNIC_NETWORK_V1] = 0, [RNIC_NETWORK_IP4] = 8 | 2, [RNIC_NETWORK_IP6] = 8 | 1};
    return wc->flags & RNIC_WC_GRH ? sl[wc->network_hdr_type] : 0;
}

static void to_ibv_wc(const struct rnic_wc *from, struct ibv_wc *to)
{
    *to = (struct ibv_wc){
        .wr_id = from->wr_id,
        .status = (enum ibv_wc_status)from->status,
        .opcode = (enum ibv_wc_opcode)from->opcode,
        .byte_len = from->byte_len,
        .qp_num = from->qpn,
        .src_qp = from->src_qp,
        .wc_flags = from->flags,
        .pkey_index = from->pkey_index,
        .sl = vcq_sl(from),
    };
    if (from->flags & RNIC_WC_WITH_INV)
        to->invalidated_rkey = from->invalidated_key;
    else
        to->imm_data = htobe32(from->imm);
}

size_t vcq_take(struct vcq *cq, struct rnic_wc *wc, size_t max, bool drives)
{
    struct vhca *hca = cq->hca;
    size_t got = rnic_cq_poll(cq->rnic, wc, max);
    if (got == 0 && drives && rnic_live_drive(hca->live))
        got = rnic_cq_poll(cq->rnic, wc, max);
    if (got > 0)
        rnic_live_leave_poll(hca->live, false);
    timeline_polled(hca->timeline, wc, got);
    return got;
}

int vcq_poll(struct ibv_cq *ibv, int cnt, struct ibv_wc *wc)
{
    struct rnic_wc got[16];
    int done = 0;
    if (vctx_check_owner(ibv->context, vcq_of(ibv)->hca) != 0)
        return -1;
    while (done < cnt) {
        size_t want = cnt - done < 16 ? (size_t)(cnt - done) : 16;
        vhca_lock(vcq_of(ibv)->hca);
        size_t n = vcq_take(vcq_of(ibv), got, want, done == 0);
        vhca_unlock(vcq_of(ibv)->hca);
        for (size_t i = 0; i < n; i++)
            to_ibv_wc(&got[i], &wc[done++]);
        if (n < want)
            break;
    }
    return done;
}
