/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Memory windows; device/mw.c allocates, binds and invalidates them. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>

struct ibv_mw *vmw_alloc(struct ibv_pd *pd, enum ibv_mw_type type)
{
    struct vmw *mw = calloc(1, sizeof *mw);
    int result = mw ? vpd_renew(pd) : ENOMEM;
    if (result == 0) {
        vctx_lock(pd->context);
        result = verbs_errno(rnic_mw_new(vpd_rnic(pd), (enum rnic_mw_type)type, &mw->rnic));
        vctx_unlock(pd->context);
    }
    if (result != 0) {
        free(mw);
        errno = result;
        return NULL;
    }
    mw->hca = vpd_base(pd)->hca;
    mw->ibv = (struct ibv_mw){
        .context = pd->context,
        .pd = pd,
        .rkey = rnic_mw_rkey(mw->rnic),
        .type = type,
    };
    mw->ibv.handle = mw->ibv.rkey;
    return &mw->ibv;
}

int vmw_dealloc(struct ibv_mw *ibv)
{
    struct vmw *mw = vmw_of(ibv);
    vhca_lock_settled(mw->hca);
    int result = verbs_errno(rnic_mw_del(mw->rnic));
    vhca_unlock(mw->hca);
    if (result == 0)
        free(mw);
    return result;
}

struct rnic_mw_bind vmw_bind_of(struct ibv_mw *mw, uint32_t rkey,
                                const struct ibv_mw_bind_info *info)
{
    return (struct rnic_mw_bind){
        .mw = vmw_of(mw)->rnic,
        .mr = info->mr ? vmr_of(info->mr)->rnic : NULL,
        .addr = info->addr,
        .len = info->length,
        /* A window cannot grant local write. Like mlx5 and rxe, ignore the flag. */
        .access = info->mw_access_flags & ~(unsigned)IBV_ACCESS_LOCAL_WRITE,
        .rkey = rkey,
    };
}

/* Binds a type 1 window. The device chooses the key and returns it at once. */
int vmw_bind(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    struct vqp *qp = vqp_of(ibv);
    const struct rnic_send_wr wr = {
        .wr_id = bind->wr_id,
        .opcode = RNIC_WR_BIND_MW,
        .flags = bind->send_flags | (qp->init.sq_sig_all ? RNIC_SEND_SIGNALED : 0u),
        .mw = vmw_bind_of(mw, 0, &bind->bind_info),
    };
    vhca_lock_settled(qp->hca);
    int result = verbs_errno(rnic_post_send(qp->rnic, &wr));
    if (result == 0)
        mw->rkey = rnic_mw_rkey(vmw_of(mw)->rnic);
    vhca_unlock(qp->hca);
    return result;
}
