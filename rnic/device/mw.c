/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/mw.h"

#include <stdlib.h>
#include "device/device.h"
#include "transport/fault.h"

int rnic_mw_new(struct rnic_pd *pd, enum rnic_mw_type type, struct rnic_mw **out)
{
    struct rnic *rnic = pd->rnic;
    struct rnic_mw *mw;

    if (type != RNIC_MW_TYPE_1 && type != RNIC_MW_TYPE_2)
        return RNIC_ERR_INVALID;
    mw = rnic->windows.cnt < rnic->limits.max_mw ? calloc(1, sizeof(*mw)) : NULL;
    if (!mw)
        return RNIC_ERR_NOMEM;
    mw->pd = pd;
    mw->type = type;
    mw->key = rnic_key_choose_prefix(rnic);
    mw->key |= rnic_entropy_u32(&rnic->entropy) & RNIC_KEY_TAG;
    mw->rkey = mw->key;
    if (!rnic_map_add(&rnic->windows, mw->key >> 8, mw)) {
        free(mw);
        return RNIC_ERR_NOMEM;
    }
    rnic_list_init(&mw->bound);
    rnic_list_add(&rnic->mws, &mw->link);
    pd->users++;
    *out = mw;
    return RNIC_OK;
}

/* Unbinds the window from its region and QP. */
static void unbind(struct rnic_mw *mw)
{
    if (mw->mr)
        mw->mr->windows--;
    mw->mr = NULL;
    mw->grant = (struct rnic_grant){0};
    rnic_list_del(&mw->bound);
}

int rnic_mw_del(struct rnic_mw *mw)
{
    if (!mw)
        return RNIC_OK;
    unbind(mw);
    rnic_map_del(&mw->pd->rnic->windows, mw->key >> 8);
    rnic_list_del(&mw->link);
    mw->pd->users--;
    free(mw);
    return RNIC_OK;
}

bool rnic_mw_2a(const struct rnic *rnic)
{
    return rnic->attr.mw_2a;
}

uint32_t rnic_mw_rkey(const struct rnic_mw *mw)
{
    return mw->type == RNIC_MW_TYPE_1 ? mw->rkey : mw->key;
}

enum rnic_mw_type rnic_mw_type(const struct rnic_mw *mw)
{
    return mw->type;
}

static uint32_t with_tag(uint32_t key, uint32_t tag)
{
    return (key & ~RNIC_KEY_TAG) | (tag & RNIC_KEY_TAG);
}

/* Prepares a bind request for the transport (see mw.h). The low 8 bits of a type 1 window's key
 * count up with each bind, so that a key is reused only after 256 binds. */
bool rnic_mw_prepare(const struct rnic_mw_bind *wr, struct rnic_mw_bind *bind)
{
    const struct rnic_mw *mw = wr->mw;

    if (!mw || (!wr->mr && wr->len) ||
        (wr->access & ~(RNIC_ACCESS_REMOTE | RNIC_ACCESS_ZERO_BASED)))
        return false;
    if (mw->type == RNIC_MW_TYPE_2 && with_tag(wr->rkey, mw->key) != mw->key &&
        !RNIC_FAULT(BIND_KEY))
        return false; /* the new key has another prefix (R212) */
    *bind = *wr;
    if (mw->type == RNIC_MW_TYPE_1)
        bind->rkey = with_tag(mw->rkey, mw->rkey + 1);
    bind->mr_key = wr->mr ? wr->mr->key : 0;
    return true;
}

void rnic_mw_posted(const struct rnic_mw_bind *bind)
{
    if (bind->mw->type == RNIC_MW_TYPE_1)
        bind->mw->rkey = bind->rkey;
}

/* Checks whether a bind is allowed (C10-72 to C10-75, R211). A window on a zero-based region is
 * rejected, as by Linux rxe and rdma-core's mlx5; the specification does not mention this case. */
static bool bind_allowed(const struct rnic_qp *qp, const struct rnic_mw *mw,
                         const struct rnic_mr *mr, const struct rnic_mw_bind *bind)
{
    unsigned writes = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC;
    unsigned flushes = RNIC_ACCESS_FLUSH_GLOBAL | RNIC_ACCESS_FLUSH_PERSISTENT;

    if (mw->pd != qp->pd)
        return false; /* the window and QP belong to different PDs (C10-72) */
    if (mw->type == RNIC_MW_TYPE_1 && (bind->access & RNIC_ACCESS_ZERO_BASED))
        return false; /* a type 1 window cannot be zero-based (o10-36.2.2) */
    if (mw->type == RNIC_MW_TYPE_2 && ((mw->mr && !RNIC_FAULT(BIND_AGAIN)) || bind->len == 0))
        return false; /* a type 2 window must be unbound, and its new range not empty (o10-37.2.30,
                       * o10-37.2.40) */
    if (bind->len == 0)
        return true;
    if (!mr || mr->pd != mw->pd || mr->grant.access == 0 ||
        (!(mr->access & RNIC_ACCESS_MW_BIND) && !RNIC_FAULT(BIND_RIGHT)) ||
        (mr->access & RNIC_ACCESS_ZERO_BASED))
        return false; /* the region must be valid, in the same PD, permit windows and not be
                       * zero-based (C10-72, C10-73) */
    if ((bind->access & writes) && !(mr->access & RNIC_ACCESS_LOCAL_WRITE) &&
        !RNIC_FAULT(BIND_WRITE))
        return false; /* remote write and atomic need local write access to the region (C10-74) */
    if (bind->access & flushes & ~mr->access)
        return false; /* the window grants a kind of FLUSH that the region's registration does not
                       * permit (A19) */
    return bind->addr >= mr->grant.iova && bind->addr - mr->grant.iova <= mr->grant.len &&
           (bind->len <= mr->grant.len - (bind->addr - mr->grant.iova) ||
            RNIC_FAULT(BIND_RANGE)); /* the range must be inside the region (C10-75) */
}

bool rnic_mw_do_bind(struct rnic_qp *qp, const struct rnic_mw_bind *bind)
{
    struct rnic *rnic = qp->pd->rnic;
    struct rnic_mw *mw = rnic_map_get(&rnic->windows, bind->rkey >> 8);
    struct rnic_mr *mr = bind->len ? rnic_map_get(&rnic->keys, bind->mr_key) : NULL;

    if (!mw || !bind_allowed(qp, mw, mr, bind))
        return false;
    unbind(mw);
    mw->key = bind->rkey;
    if (!mr)
        return true;
    mw->mr = mr;
    mr->windows++;
    mw->grant = (struct rnic_grant){
        .addr = mr->grant.addr + (bind->addr - mr->grant.iova),
        .len = bind->len,
        .iova = bind->access & RNIC_ACCESS_ZERO_BASED ? 0 : bind->addr,
        .access = bind->access & RNIC_ACCESS_REMOTE,
        .pd = mw->type == RNIC_MW_TYPE_2 && rnic->attr.mw_2a ? NULL : mw->pd,
        .qp = mw->type == RNIC_MW_TYPE_2 ? qp : NULL,
    };
    if (mw->type == RNIC_MW_TYPE_2)
        rnic_list_add(&qp->windows, &mw->bound);
    return true;
}

bool rnic_mw_invalidate(struct rnic_mw *mw)
{
    if (mw->type != RNIC_MW_TYPE_2 && !RNIC_FAULT(TYPE_1_INVALID))
        return false;
    unbind(mw);
    return true;
}

bool rnic_mw_hold(const struct rnic_qp *qp)
{
    return qp->pd->rnic->attr.mw_2a && !rnic_list_empty(&qp->windows);
}

void rnic_mw_unbind_all(struct rnic_qp *qp)
{
    while (!rnic_list_empty(&qp->windows))
        unbind(RNIC_LIST_OF(qp->windows.next, struct rnic_mw, bound));
}
