/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Shared receive queues, basic and XRC, and XRC domains. */
#include "verbs/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct ibv_srq *create_srq(struct ibv_pd *pd, void *srq_context, struct ibv_srq_attr *attr,
                                  struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
    int result = vpd_renew(pd);
    if (result == 0 && xrcd)
        result = vctx_check_owner(pd->context, vxrcd_of(xrcd)->hca);
    if (result == 0 && cq)
        result = vctx_check_owner(pd->context, vcq_of(cq)->hca);
    struct vsrq *srq = result == 0 ? calloc(1, sizeof *srq) : NULL;
    if (!srq) {
        errno = result ? result : ENOMEM;
        return NULL;
    }
    struct vhca *hca = vpd_base(pd)->hca;
    if (attr->max_sge == 0)
        attr->max_sge = 1;
    const struct rnic_srq_init init = {
        .max_wr = attr->max_wr,
        .max_sge = attr->max_sge,
        .xrcd = xrcd ? vxrcd_of(xrcd)->domain->rnic : NULL,
        .cq = cq ? vcq_of(cq)->rnic : NULL,
    };
    vctx_lock(pd->context);
    result = verbs_errno(rnic_srq_new(vpd_rnic(pd), &init, &srq->rnic));
    if (result == 0 && !rnic_map_add(&hca->srqs, (uintptr_t)srq->rnic, srq)) {
        rnic_srq_del(srq->rnic);
        result = ENOMEM;
    }
    if (result == 0)
        srq->domain = vpd_hold(pd);
    vctx_unlock(pd->context);
    if (result != 0) {
        free(srq);
        errno = result;
        return NULL;
    }
    srq->hca = hca;
    srq->ibv.context = pd->context;
    srq->ibv.srq_context = srq_context;
    srq->ibv.pd = pd;
    pthread_mutex_init(&srq->ibv.mutex, NULL);
    pthread_cond_init(&srq->ibv.cond, NULL);
    return &srq->ibv;
}

/* Creates a basic SRQ. srq_limit in the attributes is ignored (ibv_create_srq(3)). */
struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    return create_srq(pd, attr->srq_context, &attr->attr, NULL, NULL);
}

struct ibv_srq *vsrq_create_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
    const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                           IBV_SRQ_INIT_ATTR_CQ;
    uint32_t mask = attr->comp_mask;
    bool xrc = mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;
    if (mask & ~known || (mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_TM)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    if (!(mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context ||
        (xrc && (!(mask & IBV_SRQ_INIT_ATTR_XRCD) || !(mask & IBV_SRQ_INIT_ATTR_CQ) ||
                 !attr->xrcd || !attr->cq))) {
        errno = EINVAL;
        return NULL;
    }
    return create_srq(attr->pd, attr->srq_context, &attr->attr, xrc ? attr->xrcd : NULL,
                      xrc ? attr->cq : NULL);
}

int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
    if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
        return EINVAL;
    vhca_lock(vsrq_of(ibv)->hca);
    int result = verbs_errno(rnic_srq_modify(vsrq_of(ibv)->rnic,
                                             mask & IBV_SRQ_MAX_WR ? &attr->max_wr : NULL,
                                             mask & IBV_SRQ_LIMIT ? &attr->srq_limit : NULL));
    vhca_unlock(vsrq_of(ibv)->hca);
    return result;
}

int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
    struct rnic_srq_init is;
    vhca_lock(vsrq_of(ibv)->hca);
    rnic_srq_view(vsrq_of(ibv)->rnic, &is);
    vhca_unlock(vsrq_of(ibv)->hca);
    *attr =
        (struct ibv_srq_attr){.max_wr = is.max_wr, .max_sge = is.max_sge, .srq_limit = is.limit};
    return 0;
}

int ibv_destroy_srq(struct ibv_srq *ibv)
{
    struct vsrq *srq = vsrq_of(ibv);
    vhca_lock(vsrq_of(ibv)->hca);
    struct rnic_srq *rnic = srq->rnic;
    int result = verbs_errno(rnic_srq_del(rnic));
    if (result == 0) {
        rnic_map_del(&srq->hca->srqs, (uintptr_t)rnic);
        vpd_release(srq->domain);
    }
    vhca_unlock(vsrq_of(ibv)->hca);
    if (result != 0)
        return result;
    verbs_wait_acked(&ibv->mutex, &ibv->cond, &ibv->events_completed,
                     evq_purge(&vctx_of(ibv->context)->async, srq, &srq->async_reported));
    pthread_mutex_destroy(&ibv->mutex);
    pthread_cond_destroy(&ibv->cond);
    free(srq);
    return 0;
}

int vsrq_num(struct ibv_srq *srq, uint32_t *num)
{
    vhca_lock(vsrq_of(srq)->hca);
    *num = rnic_srq_num(vsrq_of(srq)->rnic);
    vhca_unlock(vsrq_of(srq)->hca);
    return 0;
}

int vsrq_post_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    int result = vctx_check_owner(ibv->context, vsrq_of(ibv)->hca);
    if (result != 0) {
        *bad = wr;
        return result;
    }
    vhca_lock(vsrq_of(ibv)->hca);
    for (; wr; wr = wr->next) {
        struct rnic_recv_wr to;
        result = vqp_recv_wr_of(wr, &to);
        if (result == 0)
            result = verbs_errno(rnic_post_srq_recv(vsrq_of(ibv)->rnic, &to));
        if (result != 0)
            break;
    }
    vhca_unlock(vsrq_of(ibv)->hca);
    if (result != 0)
        *bad = wr;
    return result;
}

/* ---- XRC domains ----------------------------------------------------------------------------- */

/* Finds or creates the XRC domain of a file, as ib_uverbs_open_xrcd() of Linux does. Returns 0 or
 * an errno. Called with the device's lock. */
static int xrc_domain_get(struct vhca *hca, struct rnic *rnic, const struct stat *file, int oflags,
                          struct xrc_domain **out)
{
    for (struct xrc_domain *is = hca->domains; file && is; is = is->next) {
        if (!is->of_file || is->dev != file->st_dev || is->ino != file->st_ino)
            continue;
        if (oflags & O_EXCL)
            return EINVAL;
        is->refs++;
        *out = is;
        return 0;
    }
    if (file && !(oflags & O_CREAT))
        return EAGAIN;
    struct xrc_domain *domain = calloc(1, sizeof *domain);
    int result = domain ? verbs_errno(rnic_xrcd_new(rnic, &domain->rnic)) : ENOMEM;
    if (result != 0) {
        free(domain);
        return result;
    }
    domain->refs = 1;
    if (file) {
        domain->of_file = true;
        domain->dev = file->st_dev;
        domain->ino = file->st_ino;
    }
    domain->next = hca->domains;
    hca->domains = domain;
    *out = domain;
    return 0;
}

/* Opens an XRC domain. All descriptors of one file refer to one domain (ibv_open_xrcd(3)), but only
 * within this process, because each process is a separate device. With fd -1 the domain is private.
 */
struct ibv_xrcd *vxrcd_open(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
    struct stat file;
    struct vxrcd *xrcd = NULL;
    int result = vctx_renew(context);
    if (result == 0 && attr->comp_mask != (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS))
        result = EINVAL;
    if (result == 0 && attr->fd != -1 && fstat(attr->fd, &file) < 0)
        result = errno;
    if (result == 0 && !(xrcd = calloc(1, sizeof *xrcd)))
        result = ENOMEM;
    if (result == 0) {
        result = xrc_domain_get(vctx_of(context)->hca, vctx_lock(context),
                                attr->fd == -1 ? NULL : &file, attr->oflags, &xrcd->domain);
        vctx_unlock(context);
    }
    if (result != 0) {
        free(xrcd);
        errno = result;
        return NULL;
    }
    xrcd->hca = vctx_of(context)->hca;
    xrcd->ibv.context = context;
    return &xrcd->ibv;
}

int vxrcd_close(struct ibv_xrcd *ibv)
{
    struct vxrcd *xrcd = vxrcd_of(ibv);
    struct xrc_domain *domain = xrcd->domain, **link = &xrcd->hca->domains;
    int result = 0;
    vhca_lock(xrcd->hca);
    if (domain->refs > 1)
        domain->refs--;
    else if ((result = verbs_errno(rnic_xrcd_del(domain->rnic))) == 0) {
        while (*link != domain)
            link = &(*link)->next;
        *link = domain->next;
        free(domain);
    }
    vhca_unlock(xrcd->hca);
    if (result == 0)
        free(xrcd);
    return result;
}
