/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/mr.h"

#include <stdlib.h>
#include "device/device.h"
#include "transport/fault.h"

static bool access_valid(unsigned access)
{
    unsigned needs_local = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC;

    if (access & ~RNIC_ACCESS_FLAGS)
        return false;
    /* remote write and atomic require local write (R207) */
    return !(access & needs_local) || (access & RNIC_ACCESS_LOCAL_WRITE);
}

/* Fills in the grant of a region (its memory and access rights) from the attributes. Returns false
 * if they are invalid. */
static bool grant_of(const struct rnic *rnic, const struct rnic_mr_attr *attr,
                     struct rnic_grant *out)
{
    /* a zero-based region starts at iova 0 (R209) */
    uint64_t iova = attr->access & RNIC_ACCESS_ZERO_BASED ? 0 : attr->iova;

    bool everything =
        !attr->addr && attr->len == UINT64_MAX && attr->access & RNIC_ACCESS_ON_DEMAND;

    if (!access_valid(attr->access) || attr->len > rnic->limits.max_mr_size ||
        attr->len > UINT64_MAX - iova || (!attr->addr && attr->len && !everything))
        return false;
    out->addr = attr->addr;
    out->len = attr->len;
    out->iova = iova;
    out->access =
        (attr->access & (RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE)) | RNIC_GRANT_LOCAL_READ;
    return true;
}

/* Registers memory of the process, but does not access or pin it. */
int rnic_mr_reg(struct rnic_pd *pd, const struct rnic_mr_attr *attr, struct rnic_mr **out)
{
    struct rnic *rnic = pd->rnic;
    struct rnic_grant grant = {.pd = pd};
    struct rnic_mr *mr;

    if (!grant_of(rnic, attr, &grant))
        return RNIC_ERR_INVALID;
    if (attr->key && rnic_key_taken(rnic, attr->key))
        return RNIC_ERR_EXISTS;
    mr = rnic->keys.cnt < rnic->limits.max_mr ? calloc(1, sizeof(*mr)) : NULL;
    if (!mr)
        return RNIC_ERR_NOMEM;
    mr->grant = grant;
    mr->pd = pd;
    mr->access = attr->access;
    mr->invalidate = attr->invalidate;
    mr->key = attr->key ? attr->key : rnic_key_choose(rnic);
    if (!rnic_map_add(&rnic->keys, mr->key, mr)) {
        free(mr);
        return RNIC_ERR_NOMEM;
    }
    rnic_list_add(&rnic->mrs, &mr->link);
    pd->users++;
    *out = mr;
    return RNIC_OK;
}

int rnic_mr_dereg(struct rnic_mr *mr)
{
    if (!mr)
        return RNIC_OK;
    if (mr->windows) /* windows are bound to the region (R213) */
        return RNIC_FAULT(REGION_BUSY) ? RNIC_OK : RNIC_ERR_BUSY;
    rnic_map_del(&mr->pd->rnic->keys, mr->key);
    rnic_list_del(&mr->link);
    mr->pd->users--;
    free(mr);
    return RNIC_OK;
}

int rnic_mr_rereg(struct rnic_mr *mr, unsigned flags, struct rnic_pd *pd,
                  const struct rnic_mr_attr *attr)
{
    struct rnic_pd *new_pd = flags & RNIC_MR_REREG_PD ? pd : mr->pd;
    struct rnic_mr_attr whole = {
        .addr = mr->grant.addr, .len = mr->grant.len, .iova = mr->grant.iova, .access = mr->access};
    struct rnic_grant grant = {.pd = new_pd};

    if (flags == 0 ||
        (flags &
         ~(unsigned)(RNIC_MR_REREG_TRANSLATION | RNIC_MR_REREG_PD | RNIC_MR_REREG_ACCESS)) ||
        !new_pd || new_pd->rnic != mr->pd->rnic)
        return RNIC_ERR_INVALID;
    if (flags & RNIC_MR_REREG_TRANSLATION) {
        whole.addr = attr->addr;
        whole.len = attr->len;
        whole.iova = attr->iova;
    }
    if (flags & RNIC_MR_REREG_ACCESS) {
        if (!(flags & RNIC_MR_REREG_TRANSLATION) &&
            ((attr->access ^ mr->access) & RNIC_ACCESS_ZERO_BASED))
            return RNIC_ERR_INVALID; /* a change of ZERO_BASED needs TRANSLATION; otherwise the
                                      * iova of the first byte would be undefined */
        whole.access = attr->access;
    }
    if (!grant_of(new_pd->rnic, &whole, &grant))
        return RNIC_ERR_INVALID;
    if (mr->windows)
        return RNIC_ERR_BUSY; /* windows are bound to the region (R213) */
    mr->grant = grant;
    mr->access = whole.access;
    mr->pd->users--;
    mr->pd = new_pd;
    mr->pd->users++;
    return RNIC_OK;
}

uint32_t rnic_mr_key(const struct rnic_mr *mr)
{
    return mr->key;
}

bool rnic_mr_invalidate(struct rnic_mr *mr)
{
    if (!mr->invalidate || mr->grant.access == 0 || mr->windows)
        return false;
    mr->grant.access = 0;
    return true;
}
