/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/key.h"

#include "device/device.h"
#include "transport/fault.h"

/* Returns the grant that belongs to a valid key: the memory and the access rights. Returns NULL if
 * the key is invalid. */
static const struct rnic_grant *find(const struct rnic *rnic, uint32_t key)
{
    const struct rnic_mr *mr = rnic_map_get(&rnic->keys, key);
    const struct rnic_mw *mw;

    if (mr)
        return &mr->grant;
    mw = rnic_map_get(&rnic->windows, key >> 8);
    return mw && mw->key == key ? &mw->grant : NULL;
}

static enum rnic_mem check(const struct rnic_grant *grant, const struct rnic_pd *pd,
                           const struct rnic_qp *qp, unsigned access)
{
    if (!grant || grant->access == 0)
        return RNIC_MEM_KEY;
    if ((grant->pd != pd && grant->pd && !RNIC_FAULT(PD_ANY)) ||
        (grant->qp && grant->qp != qp && !RNIC_FAULT(WINDOW_ANY_QP)))
        return RNIC_MEM_PD; /* the key belongs to another PD or QP (C10-56, R206; R210) */
    if ((grant->access & access) != access && !RNIC_FAULT(ACCESS_RIGHTS))
        return RNIC_MEM_ACCESS; /* the key does not grant the right (C10-57, R207) */
    return RNIC_MEM_OK;
}

/* Returns true if the first 8192 bytes of a range are still mapped in the process. A packet reads
 * or writes at most 4096 bytes. The range of a READ request, or of the First packet of a WRITE, can
 * be longer: its other bytes are checked when the device handles the packets that contain them. A
 * FLUSH accesses no memory. */
static bool there(const struct rnic *rnic, const uint8_t *addr, uint64_t len, unsigned access)
{
    const unsigned writes =
        RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC;

    return !rnic->attr.there || rnic->attr.there(addr, len < 8192 ? len : 8192, access & writes);
}

enum rnic_mem rnic_key_translate(const struct rnic_pd *pd, const struct rnic_qp *qp, uint32_t key,
                                 uint64_t va, uint64_t len, unsigned access, uint8_t **out)
{
    const struct rnic_grant *grant = find(pd->rnic, key);
    enum rnic_mem mem =
        check(grant, pd, qp, access & RNIC_ACCESS_REMOTE ? access : access | RNIC_GRANT_LOCAL_READ);

    if (mem != RNIC_MEM_OK)
        return mem;
    if (RNIC_FAULT(ACCESS_RANGE) && len <= grant->len)
        va = grant->iova; /* injected fault: access the start of the region instead of the requested
                           * range */
    /* Compare by subtraction, because a sum could exceed 2^64 (R084). */
    if (va < grant->iova || va - grant->iova > grant->len || len > grant->len - (va - grant->iova))
        return RNIC_MEM_RANGE;
    /* The addition uses integers: a region of the whole address space starts at NULL, and
     * arithmetic on a NULL pointer is undefined. */
    *out = (uint8_t *)((uintptr_t)grant->addr + (va - grant->iova));
    return there(pd->rnic, *out, len, access) ? RNIC_MEM_OK : RNIC_MEM_GONE;
}

enum rnic_mem rnic_key_check(const struct rnic_pd *pd, const struct rnic_qp *qp, uint32_t key,
                             unsigned access)
{
    return check(find(pd->rnic, key), pd, qp, access);
}

bool rnic_key_invalidate(const struct rnic_pd *pd, const struct rnic_qp *qp, uint32_t key)
{
    struct rnic_mr *mr = rnic_map_get(&pd->rnic->keys, key);
    struct rnic_mw *mw;

    if (mr)
        return mr->grant.pd == pd && rnic_mr_invalidate(mr);
    mw = rnic_map_get(&pd->rnic->windows, key >> 8);
    return mw && mw->key == key && (mw->mr ? mw->grant.qp == qp : mw->pd == pd) &&
           rnic_mw_invalidate(mw);
}

bool rnic_key_taken(const struct rnic *rnic, uint32_t key)
{
    return rnic_map_get(&rnic->keys, key) || rnic_map_get(&rnic->windows, key >> 8);
}

uint32_t rnic_key_choose(struct rnic *rnic)
{
    uint32_t key;

    do {
        key = rnic_entropy_u32(&rnic->entropy);
    } while (key == 0 || rnic_key_taken(rnic, key));
    return key;
}

static bool prefix_taken(const struct rnic *rnic, uint32_t prefix)
{
    for (uint32_t tag = 0; tag <= RNIC_KEY_TAG; tag++)
        if (rnic_key_taken(rnic, prefix | tag))
            return true;
    return false;
}

/* The loop ends after a few random numbers. Even with the maximum numbers of regions and windows,
 * about a third of the 2^24 key prefixes is free, because the random keys of several regions can
 * share a prefix. */
uint32_t rnic_key_choose_prefix(struct rnic *rnic)
{
    uint32_t prefix;

    do {
        prefix = rnic_entropy_u32(&rnic->entropy) & ~RNIC_KEY_TAG;
    } while (prefix == 0 || prefix_taken(rnic, prefix));
    return prefix;
}
