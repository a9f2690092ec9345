/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Protection domains and memory regions. Thread domains and parent domains have no effect, because
 * the device has one lock. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/page_probe.h"

/* ---- protection domains ---------------------------------------------------------------------- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct vpd *pd = calloc(1, sizeof *pd);
    if (!pd) {
        errno = ENOMEM;
        return NULL;
    }
    pd->ibv.context = context;
    int result = rnic_pd_new(vctx_lock(context), &pd->rnic);
    vctx_unlock(context);
    if (result != RNIC_OK) {
        free(pd);
        errno = verbs_errno(result);
        return NULL;
    }
    return &pd->ibv;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
    struct vpd *pd = vpd_of(ibv);
    struct ibv_context *context = ibv->context;
    int result = 0;
    vctx_lock(context);
    if (pd->parent)
        pd->parent->refs--;
    else if (pd->refs > 0)
        result = EBUSY;
    else
        result = verbs_errno(rnic_pd_del(pd->rnic));
    vctx_unlock(context);
    if (result == 0)
        free(pd);
    return result;
}

struct ibv_td *vtd_alloc(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
    struct ibv_td *td = attr->comp_mask ? NULL : calloc(1, sizeof *td);
    if (!td) {
        errno = attr->comp_mask ? EINVAL : ENOMEM;
        return NULL;
    }
    td->context = context;
    return td;
}

int vtd_dealloc(struct ibv_td *td)
{
    free(td);
    return 0;
}

struct ibv_pd *vpd_alloc_parent(struct ibv_context *context,
                                struct ibv_parent_domain_init_attr *attr)
{
    /* Custom allocators are for queues of a provider in the program's memory. Our queues are
     * internal, so the allocators are never called, as the manual page allows. */
    const uint32_t known =
        IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    /* IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC of rdma-core 65: memory that a
     * confidential guest shares with its host. */
    const uint32_t confidential = 1u << 2;
    if (attr->pd && attr->pd->context == context && attr->comp_mask & confidential) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    if (!attr->pd || attr->pd->context != context || attr->comp_mask & ~known) {
        errno = EINVAL;
        return NULL;
    }
    struct vpd *pd = calloc(1, sizeof *pd);
    if (!pd) {
        errno = ENOMEM;
        return NULL;
    }
    pd->ibv.context = context;
    pd->parent = vpd_of(attr->pd)->parent ? vpd_of(attr->pd)->parent : vpd_of(attr->pd);
    vctx_lock(context);
    pd->parent->refs++;
    vctx_unlock(context);
    return &pd->ibv;
}

/* ---- memory regions -------------------------------------------------------------------------- */

/* Converts access flags. Returns EINVAL for an unknown flag that may not be ignored. */
static int to_rnic_access(unsigned flags, unsigned *access)
{
    *access = flags & RNIC_ACCESS_ALL;
    return flags & ~(RNIC_ACCESS_ALL | (unsigned)IBV_ACCESS_OPTIONAL_RANGE) ? EINVAL : 0;
}

static struct ibv_mr *register_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
                                  unsigned flags)
{
    struct rnic_mr_attr attr = {.addr = addr, .len = len, .iova = iova, .invalidate = true};
    int result = vctx_check_owner(pd->context);
    if (result == 0)
        result = to_rnic_access(flags, &attr.access);
    if (flags & IBV_ACCESS_ON_DEMAND)
        result = EOPNOTSUPP;
    if (result == 0 && len == 0)
        result = EINVAL; /* EINVAL as in the kernel: there is no page to pin */
    if (result == 0)
        result = page_probe_region(addr, len, attr.access & RNIC_ACCESS_LOCAL_WRITE);
    struct vmr *mr = result == 0 ? calloc(1, sizeof *mr) : NULL;
    if (!mr) {
        errno = result ? result : ENOMEM;
        return NULL;
    }
    vctx_lock(pd->context);
    result = rnic_mr_reg(vpd_rnic(pd), &attr, &mr->rnic);
    vctx_unlock(pd->context);
    if (result != RNIC_OK) {
        free(mr);
        errno = verbs_errno(result);
        return NULL;
    }
    mr->access = flags;
    mr->ibv = (struct ibv_mr){
        .context = pd->context,
        .pd = pd,
        .addr = addr,
        .length = len,
        .lkey = rnic_mr_key(mr->rnic),
        .rkey = rnic_mr_key(mr->rnic),
    };
    mr->ibv.handle = mr->ibv.lkey;
    return &mr->ibv;
}

static uint64_t iova_of(const void *addr, unsigned flags)
{
    return flags & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return register_mr(pd, addr, length, iova_of(addr, (unsigned)access), (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                               int access)
{
    return register_mr(pd, addr, length, iova, (unsigned)access);
}

/* Called by ibv_reg_mr() with non-constant flags; iova is then the address. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned access)
{
    if (access & IBV_ACCESS_ZERO_BASED && iova == (uintptr_t)addr)
        iova = 0;
    return register_mr(pd, addr, length, iova, access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    (void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
    errno = EOPNOTSUPP;
    return NULL;
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
    struct vmr *mr = (struct vmr *)(void *)ibv;
    vctx_lock_settled(ibv->context);
    int result = verbs_errno(rnic_mr_dereg(mr->rnic));
    vctx_unlock(ibv->context);
    if (result == 0)
        free(mr);
    return result;
}

int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length,
                 int access)
{
    struct vmr *mr = (struct vmr *)(void *)ibv;
    unsigned rights = flags & IBV_REREG_MR_CHANGE_ACCESS ? (unsigned)access : mr->access;
    bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
    struct rnic_mr_attr attr = {
        .addr = moves ? addr : ibv->addr,
        .len = moves ? length : ibv->length,
        .iova = (uintptr_t)(moves ? addr : ibv->addr),
    };
    int result = flags == 0 || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED ? EINVAL : 0;
    if (result == 0 && ((flags & IBV_REREG_MR_CHANGE_PD && !pd) || attr.len == 0))
        result = EINVAL;
    if (result == 0)
        result = to_rnic_access(rights, &attr.access);
    if (result == 0)
        result = page_probe_region(attr.addr, attr.len, rights & IBV_ACCESS_LOCAL_WRITE);
    if (result == 0) {
        /* Without IBV_REREG_MR_CHANGE_PD `pd` may be invalid: pyverbs passes any value. */
        struct rnic_pd *to = flags & IBV_REREG_MR_CHANGE_PD ? vpd_rnic(pd) : NULL;
        vctx_lock_settled(ibv->context);
        result = verbs_errno(rnic_mr_rereg(mr->rnic, (unsigned)flags, to, &attr));
        vctx_unlock(ibv->context);
    }
    if (result != 0) {
        errno = result;
        return IBV_REREG_MR_ERR_INPUT;
    }
    mr->access = rights;
    ibv->addr = attr.addr;
    ibv->length = attr.len;
    if (flags & IBV_REREG_MR_CHANGE_PD)
        ibv->pd = pd;
    return 0;
}
