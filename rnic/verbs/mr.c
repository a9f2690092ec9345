/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Protection domains and memory regions. ibv_import_pd() and ibv_import_mr() create a second
 * structure that refers to an existing object and belongs to a context of ibv_import_device().
 * Thread domains and parent domains have no effect, because the device has one lock. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/page_probe.h"

/* ---- protection domains ---------------------------------------------------------------------- */

/* Creates the struct rnic_pd that belongs to a PD of the program. Returns 0 or an errno. Called
 * with the device's lock. */
static int create_rnic_pd(struct vpd *pd, struct vhca *hca, struct rnic *rnic)
{
    struct rnic_pd *is;
    int result = verbs_errno(rnic_pd_new(rnic, &is));
    if (result == 0 && !vctx_add_handle(pd->ibv.context, &hca->pds, is, &pd->ibv.handle)) {
        rnic_pd_del(is);
        result = ENOMEM;
    }
    if (result == 0) {
        pd->rnic = is;
        pd->hca = hca;
    }
    return result;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct vpd *pd = calloc(1, sizeof *pd);
    if (!pd) {
        errno = ENOMEM;
        return NULL;
    }
    pd->ibv.context = context;
    int result = vctx_renew(context);
    if (result == 0) {
        result = create_rnic_pd(pd, vctx_of(context)->hca, vctx_lock(context));
        vctx_unlock(context);
    }
    if (result != 0) {
        free(pd);
        errno = result;
        return NULL;
    }
    return &pd->ibv;
}

int vpd_renew(struct ibv_pd *ibv)
{
    struct vpd *pd = vpd_base(ibv);
    if (!pd->hca->inherited)
        return 0;
    int result = vctx_renew(ibv->context);
    if (result != 0)
        return result;
    struct rnic *rnic = vctx_lock(ibv->context);
    if (pd->hca->inherited) /* otherwise another thread has renewed the PD meanwhile */
        result = create_rnic_pd(pd, vctx_of(ibv->context)->hca, rnic);
    vctx_unlock(ibv->context);
    return result;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
    struct vpd *pd = vpd_of(ibv);
    struct vhca *hca = vpd_base(ibv)->hca;
    int result = 0;
    vhca_lock(hca);
    if (pd->refs > 0)
        result = EBUSY;
    else if (pd->parent)
        pd->parent->refs--;
    else if ((result = verbs_errno(rnic_pd_del(pd->rnic))) == 0)
        rnic_map_del(&hca->pds, vctx_key(ibv->context, ibv->handle));
    vhca_unlock(hca);
    if (result == 0 && pd->td)
        pd->td->refs--;
    if (result == 0)
        free(pd);
    return result;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
    struct vpd *pd = NULL;
    int result = vctx_check_owner(context, vctx_of(context)->hca);
    if (result == 0 && !(pd = calloc(1, sizeof *pd)))
        result = ENOMEM;
    if (result == 0) {
        vctx_lock(context);
        pd->rnic = rnic_map_get(&vctx_of(context)->hca->pds, vctx_key(context, handle));
        vctx_unlock(context);
        if (!pd->rnic)
            result = ENOENT;
    }
    if (result != 0) {
        free(pd);
        errno = result;
        return NULL;
    }
    pd->hca = vctx_of(context)->hca;
    pd->ibv.context = context;
    pd->ibv.handle = handle;
    return &pd->ibv;
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
    free(vpd_of(pd));
}

struct ibv_td *vtd_alloc(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
    struct vtd *td = attr->comp_mask ? NULL : calloc(1, sizeof *td);
    if (!td) {
        errno = attr->comp_mask ? EINVAL : ENOMEM;
        return NULL;
    }
    td->ibv.context = context;
    return &td->ibv;
}

int vtd_dealloc(struct ibv_td *ibv)
{
    struct vtd *td = vtd_of(ibv);
    if (td->refs > 0)
        return EBUSY; /* as mlx5 */
    free(td);
    return 0;
}

struct ibv_pd *vpd_alloc_parent(struct ibv_context *context,
                                struct ibv_parent_domain_init_attr *attr)
{
    /* A custom allocator provides memory of the program for a provider's queues. Our queues are
     * internal, so the allocators are never called; the manual page permits that. */
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
    int result = vpd_renew(attr->pd);
    struct vpd *pd = result == 0 ? calloc(1, sizeof *pd) : NULL;
    if (!pd) {
        errno = result ? result : ENOMEM;
        return NULL;
    }
    pd->ibv.context = context;
    pd->ibv.handle = attr->pd->handle;
    pd->parent = vpd_base(attr->pd);
    vhca_lock(pd->parent->hca);
    pd->parent->refs++;
    vhca_unlock(pd->parent->hca);
    if (attr->td) {
        pd->td = vtd_of(attr->td);
        pd->td->refs++;
    }
    return &pd->ibv;
}

/* ---- memory regions -------------------------------------------------------------------------- */

/* Converts access flags. Returns 0, or EINVAL for an unknown flag outside
 * IBV_ACCESS_OPTIONAL_RANGE. */
static int to_rnic_access(unsigned flags, unsigned *access)
{
    *access = flags & RNIC_ACCESS_FLAGS;
    return flags & ~RNIC_ACCESS_FLAGS ? EINVAL : 0;
}

/* Checks memory of the program that is being registered. Returns 0 or an errno. On-demand paging
 * (IBV_ACCESS_ON_DEMAND) permits memory that is not mapped yet. */
static int check_memory(const void *addr, size_t len, unsigned access)
{
    if (len == 0)
        return EINVAL;                 /* EINVAL as in the kernel: there is no page to pin */
    if (access & IBV_ACCESS_ON_DEMAND) /* the whole address space cannot be registered with huge
                                        * pages */
        return !addr && len == SIZE_MAX && access & IBV_ACCESS_HUGETLB ? EINVAL : 0;
    return page_probe_region(addr, len, access & IBV_ACCESS_LOCAL_WRITE);
}

struct ibv_mr *vmr_register(struct ibv_pd *pd, const struct vmr_attr *from)
{
    struct rnic_mr_attr attr = {.addr = from->addr, .len = from->len, .iova = from->iova};
    int result = vpd_renew(pd);
    if (result == 0)
        result = to_rnic_access(from->access, &attr.access);
    if (result == 0 && !from->memory)
        result = check_memory(from->addr, from->len, from->access);
    struct vmr *mr = result == 0 ? calloc(1, sizeof *mr) : NULL;
    if (!mr) {
        errno = result ? result : ENOMEM;
        return NULL;
    }
    struct vhca *hca = vpd_base(pd)->hca;
    vhca_lock(hca);
    result = rnic_mr_reg(vpd_rnic(pd), &attr, &mr->rnic);
    if (result == RNIC_OK && !rnic_map_add(&hca->mrs, rnic_mr_key(mr->rnic), mr)) {
        rnic_mr_dereg(mr->rnic);
        result = RNIC_ERR_NOMEM;
    }
    if (result == RNIC_OK && from->memory)
        from->memory->regions++;
    vhca_unlock(hca);
    if (result != RNIC_OK) {
        free(mr);
        errno = verbs_errno(result);
        return NULL;
    }
    mr->hca = hca;
    mr->access = from->access;
    mr->pd = vpd_rnic(pd);
    mr->iova = from->access & IBV_ACCESS_ZERO_BASED ? 0 : from->iova;
    mr->memory = from->memory;
    mr->ibv = (struct ibv_mr){
        .context = pd->context,
        .pd = pd,
        .addr = from->memory ? NULL : from->addr,
        .length = from->len,
        .lkey = rnic_mr_key(mr->rnic),
        .rkey = rnic_mr_key(mr->rnic),
    };
    mr->ibv.handle = mr->ibv.lkey;
    return &mr->ibv;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                               int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

/* Registers memory. The macro ibv_reg_mr() also calls this function if `access` is not a constant;
 * `iova` is then the address. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned access)
{
    return vmr_register(
        pd, &(struct vmr_attr){.addr = addr, .len = length, .iova = iova, .access = access});
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
    struct vmr *mr = vmr_of(ibv);
    struct vhca *hca = mr->hca;
    vhca_lock_settled(hca);
    struct vmr *original = rnic_map_get(&hca->mrs, ibv->lkey);
    int result = verbs_errno(rnic_mr_dereg(mr->rnic));
    if (result == 0) {
        rnic_map_del(&hca->mrs, ibv->lkey);
        if (mr->memory)
            mr->memory->regions--;
    }
    vhca_unlock(hca);
    if (result != 0)
        return result;
    if (original && original != mr && original->left)
        free(original);
    free(mr);
    return 0;
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
    struct ibv_context *context = pd->context;
    struct vmr *mr = NULL;
    int result = vctx_check_owner(context, vpd_base(pd)->hca);
    if (result == 0 && !(mr = calloc(1, sizeof *mr)))
        result = ENOMEM;
    if (result == 0) {
        vctx_lock(context);
        const struct vmr *original = rnic_map_get(&vctx_of(context)->hca->mrs, handle);
        if (original && original->pd == vpd_rnic(pd))
            *mr = *original;
        else
            result = ENOENT;
        vctx_unlock(context);
    }
    if (result != 0) {
        free(mr);
        errno = result;
        return NULL;
    }
    mr->left = false;
    mr->ibv.context = context;
    mr->ibv.pd = pd;
    mr->ibv.addr = NULL;
    return &mr->ibv;
}

void ibv_unimport_mr(struct ibv_mr *ibv)
{
    struct vmr *mr = vmr_of(ibv);
    vhca_lock(mr->hca);
    bool original = rnic_map_get(&mr->hca->mrs, ibv->lkey) == mr;
    /* If the region was registered with this structure, the structure is freed together with the
     * region. */
    mr->left = original;
    vhca_unlock(mr->hca);
    if (!original)
        free(mr);
}

int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length,
                 int access)
{
    struct vmr *mr = vmr_of(ibv);
    unsigned rights = flags & IBV_REREG_MR_CHANGE_ACCESS ? (unsigned)access : mr->access;
    bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
    struct rnic_mr_attr attr = {
        .addr = moves ? addr : ibv->addr,
        .len = moves ? length : ibv->length,
        .iova = (uintptr_t)(moves ? addr : ibv->addr),
    };
    int result = flags == 0 || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED ? EINVAL : 0;
    if (result == 0)
        result = vctx_check_owner(ibv->context, mr->hca);
    if (result == 0 && flags & IBV_REREG_MR_CHANGE_PD && pd)
        result = vpd_renew(pd);
    if (result == 0 && ((flags & IBV_REREG_MR_CHANGE_PD && !pd) || mr->memory))
        result = EINVAL;
    if (result == 0)
        result = to_rnic_access(rights, &attr.access);
    if (result == 0)
        result = check_memory(attr.addr, attr.len, rights);
    if (result == 0) {
        /* Without IBV_REREG_MR_CHANGE_PD `pd` may be invalid: pyverbs passes any value. */
        struct rnic_pd *to = flags & IBV_REREG_MR_CHANGE_PD ? vpd_rnic(pd) : NULL;
        vhca_lock_settled(mr->hca);
        result = verbs_errno(rnic_mr_rereg(mr->rnic, (unsigned)flags, to, &attr));
        vhca_unlock(mr->hca);
    }
    if (result != 0) {
        errno = result;
        return IBV_REREG_MR_ERR_INPUT;
    }
    mr->access = rights;
    if (moves)
        mr->iova = rights & IBV_ACCESS_ZERO_BASED ? 0 : attr.iova;
    ibv->addr = attr.addr;
    ibv->length = attr.len;
    if (flags & IBV_REREG_MR_CHANGE_PD) {
        mr->pd = vpd_rnic(pd);
        ibv->pd = pd;
    }
    return 0;
}

/* ---- ibv_advise_mr() ------------------------------------------------------------------------- */

/* Sets *at to the address of the memory that an SGE of ibv_advise_mr() names. Returns 0, or an
 * errno as Linux does. The caller holds the lock of the device. */
static int fetched_memory(struct ibv_pd *pd, const struct ibv_sge *sge, bool write, char **at)
{
    const struct vmr *mr = rnic_map_get(&vpd_base(pd)->hca->mrs, sge->lkey);
    if (!mr)
        return ENOENT;
    if (mr->pd != vpd_rnic(pd))
        return EPERM;
    if (!(mr->access & IBV_ACCESS_ON_DEMAND))
        return EINVAL;
    if (write && !(mr->access & IBV_ACCESS_LOCAL_WRITE))
        return EPERM;
    uint64_t off = sge->addr - mr->iova; /* offset in the region */
    if (sge->addr < mr->iova || off > mr->ibv.length || sge->length > mr->ibv.length - off)
        return EFAULT;
    *at = (char *)((uintptr_t)mr->ibv.addr + off);
    return 0;
}

int vmr_advise(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
               struct ibv_sge *sge, uint32_t cnt)
{
    int result = vctx_check_owner(pd->context, vpd_base(pd)->hca);
    if (result != 0)
        return result;
    if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
        return ENOTSUP;
    if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || (cnt && !sge))
        return EINVAL;
    bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
    for (uint32_t i = 0; i < cnt; i++) {
        char *at = NULL;
        vhca_lock(vpd_base(pd)->hca);
        result = fetched_memory(pd, &sge[i], write, &at);
        vhca_unlock(vpd_base(pd)->hca);
        if (result != 0)
            return result;
        /* The device uses the pages of the process, so there is nothing to do unless a page is
         * missing. Missing pages are an error only for a caller that requested to wait for the
         * pages. */
        if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT &&
            page_probe_populate(at, sge[i].length, write) != 0 && flags & IBV_ADVISE_MR_FLAG_FLUSH)
            return EFAULT;
    }
    return 0;
}
