/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/respres.h"

#include <assert.h>
#include <string.h>

void rnic_respres_init(struct rnic_respres_ring *ring, uint8_t max)
{
    assert(max <= RNIC_RD_ATOMIC_MAX);
    memset(ring, 0, sizeof(*ring));
    ring->max = max;
}

void rnic_respres_resize(struct rnic_respres_ring *ring, uint8_t max)
{
    const struct rnic_respres_ring old = *ring;

    rnic_respres_init(ring, max);
    for (uint8_t i = 0; max && i < old.max; i++) {
        const struct rnic_respres *res = &old.res[(old.next + i) % old.max];

        if (res->kind == ROCE_KIND_RESERVED)
            continue;
        ring->res[ring->next] = *res;
        ring->next = (uint8_t)((ring->next + 1) % max);
    }
}

struct rnic_respres *rnic_respres_next(struct rnic_respres_ring *ring)
{
    struct rnic_respres *res = &ring->res[ring->next];

    if (ring->max == 0 || (res->response_queued && !res->response_sent))
        return NULL;
    return res;
}

void rnic_respres_use(struct rnic_respres_ring *ring, struct rnic_respres *res, enum roce_kind kind,
                      rnic_pos pos, uint32_t cnt)
{
    assert(res == &ring->res[ring->next]);
    ring->next = (uint8_t)((ring->next + 1) % ring->max);
    *res = (struct rnic_respres){
        .kind = (uint8_t)kind, .pos = pos, .cnt = cnt, .response_queued = true};
}

struct rnic_respres *rnic_respres_read(struct rnic_respres_ring *ring, rnic_pos pos, uint64_t va,
                                       uint32_t len, uint32_t rkey, uint32_t mtu)
{
    for (uint8_t i = 0; i < ring->max; i++) {
        struct rnic_respres *res = &ring->res[i];
        uint64_t skip;

        if (res->kind != ROCE_KIND_READ || pos < res->pos || pos - res->pos >= res->cnt)
            continue;
        skip = (pos - res->pos) * mtu;
        if (rkey != res->rkey || va - res->va != skip || len > res->len - skip ||
            (len == 0) != (res->len == 0))
            return NULL;
        return res;
    }
    return NULL;
}

struct rnic_respres *rnic_respres_atomic(struct rnic_respres_ring *ring, rnic_pos pos,
                                         enum roce_kind kind)
{
    for (uint8_t i = 0; i < ring->max; i++)
        if (ring->res[i].kind == kind && ring->res[i].pos == pos)
            return &ring->res[i];
    return NULL;
}

bool rnic_respres_restart(struct rnic_respres *res, rnic_pos pos, uint64_t va, uint32_t len)
{
    if (!res->response_sent && (pos > res->pos + res->next || va - res->va + len != res->len))
        return false;
    res->response_queued = true;
    res->response_started = false;
    res->next = (uint32_t)(pos - res->pos);
    res->left = len;
    return true;
}
