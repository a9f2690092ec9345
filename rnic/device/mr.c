/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/mr.h"

#include <stdlib.h>
#include "device/device.h"

/* A key that is free and not 0. */
static uint32_t choose_key(struct rnic *rnic)
{
    uint32_t key;

    do {
        key = rnic_entropy_u32(&rnic->entropy);
    } while (key == 0 || rnic_map_get(&rnic->keys, key));
    return key;
}

static bool attr_valid(const struct rnic_mr_attr *attr)
{
    unsigned needs_local = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC;

    if (attr->access & ~RNIC_ACCESS_ALL)
        return false;
    if ((attr->access & needs_local) && !(attr->access & RNIC_ACCESS_LOCAL_WRITE))
        return false; /* R207 */
    return attr->len <= UINT64_MAX - attr->iova && (attr->addr || attr->len == 0);
}

int rnic_mr_reg(struct rnic_pd *pd, const struct rnic_mr_attr *attr, struct rnic_mr **out)
{
    struct rnic *rnic = pd->rnic;
    struct rnic_mr *mr;

    if (!attr_valid(attr))
        return RNIC_ERR_INVALID;
    if (attr->key && rnic_map_get(&rnic->keys, attr->key))
        return RNIC_ERR_EXISTS;
    mr = rnic->keys.cnt < RNIC_MR_LIMIT ? calloc(1, sizeof(*mr)) : NULL;
    if (!mr)
        return RNIC_ERR_NOMEM;
    mr->pd = pd;
    mr->addr = attr->addr;
    mr->len = attr->len;
    mr->iova = attr->iova;
    mr->access = attr->access;
    mr->invalidate = attr->invalidate;
    mr->key = attr->key ? attr->key : choose_key(rnic);
    if (!rnic_map_add(&rnic->keys, mr->key, mr)) {
        free(mr);
        return RNIC_ERR_NOMEM;
    }
    rnic_list_add(&rnic->mrs, &mr->link);
    pd->users++;
    *out = mr;
    return RNIC_OK;
}

void rnic_mr_dereg(struct rnic_mr *mr)
{
    if (!mr)
        return;
    rnic_map_del(&mr->pd->rnic->keys, mr->key);
    rnic_list_del(&mr->link);
    mr->pd->users--;
    free(mr);
}

uint32_t rnic_mr_key(const struct rnic_mr *mr)
{
    return mr->key;
}

enum rnic_mem rnic_mr_translate(const struct rnic_pd *pd, uint32_t key, uint64_t va, uint64_t len,
                                unsigned access, uint8_t **out)
{
    const struct rnic_mr *mr = rnic_map_get(&pd->rnic->keys, key);

    if (!mr || mr->invalidated)
        return RNIC_MEM_KEY;
    if (mr->pd != pd)
        return RNIC_MEM_PD; /* C10-56, R206 */
    if ((mr->access & access) != access)
        return RNIC_MEM_ACCESS; /* C10-57, R207 */
    /* Differences, so that no sum can pass 2^64 (R084). */
    if (va < mr->iova || va - mr->iova > mr->len || len > mr->len - (va - mr->iova))
        return RNIC_MEM_RANGE;
    *out = mr->addr + (va - mr->iova);
    return RNIC_MEM_OK;
}

bool rnic_mr_invalidate(const struct rnic_pd *pd, uint32_t key)
{
    struct rnic_mr *mr = rnic_map_get(&pd->rnic->keys, key);

    if (!mr || mr->pd != pd || !mr->invalidate || mr->invalidated)
        return false;
    mr->invalidated = true;
    return true;
}
