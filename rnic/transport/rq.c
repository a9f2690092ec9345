/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/rq.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "transport/fault.h"

static uint32_t wqe_bytes(uint32_t max_sge)
{
    return (uint32_t)(sizeof(struct rnic_rwqe) + max_sge * sizeof(struct rnic_sge));
}

size_t rnic_rq_bytes(uint32_t max, uint32_t max_sge)
{
    return max * (wqe_bytes(max_sge) + 2 * sizeof(uint16_t));
}

static void lay_out_block(struct rnic_rq *rq)
{
    if (rq->cap == 0)
        return; /* no block was allocated */
    rq->free = (uint16_t *)(void *)(rq->wqe + (size_t)rq->cap * rq->wqe_len);
    rq->fifo = rq->free + rq->cap;
}

/* Allocates one block for `cap` WQEs. */
static bool allocate_block(struct rnic_rq *rq, uint32_t cap)
{
    rq->cap = cap;
    rq->wqe = cap ? calloc(1, rnic_rq_bytes(cap, rq->max_sge)) : NULL;
    if (cap && !rq->wqe)
        return false;
    lay_out_block(rq);
    return true;
}

void rnic_rq_use_block(struct rnic_rq *rq, void *room)
{
    assert(rnic_rq_used(rq) == 0 && !rq->external_block);
    if (rq->cap == 0)
        return;
    free(rq->wqe);
    rq->wqe = room;
    rq->external_block = true;
    lay_out_block(rq);
    rnic_rq_clear(rq);
}

bool rnic_rq_init(struct rnic_rq *rq, uint32_t max, uint32_t max_sge)
{
    assert(max <= RNIC_WR_MAX && max_sge >= 1 && max_sge <= RNIC_SGE_MAX);
    *rq = (struct rnic_rq){.max = max, .max_sge = max_sge};
    rq->wqe_len = wqe_bytes(max_sge);
    if (!allocate_block(rq, max)) {
        rnic_rq_free(rq);
        return false;
    }
    rnic_rq_clear(rq);
    return true;
}

void rnic_rq_free(struct rnic_rq *rq)
{
    if (!rq->external_block)
        free(rq->wqe);
    *rq = (struct rnic_rq){0};
}

static struct rnic_rwqe *wqe_at(const struct rnic_rq *rq, uint32_t idx)
{
    return (struct rnic_rwqe *)(void *)(rq->wqe + (size_t)idx * rq->wqe_len);
}

/* Changes the maximum number of WQEs. Each WQE keeps its index in the new block of memory, so that
 * rnic_rq_moved() can compute the new address of a WQE that a message uses. */
bool rnic_rq_resize(struct rnic_rq *rq, uint32_t max, uint8_t **old)
{
    struct rnic_rq larger = *rq;

    assert(!rq->external_block); /* only SRQs are resized, and an SRQ always has its own block */
    *old = NULL;
    if (max < rnic_rq_used(rq))
        return false;
    if (max <= rq->cap) {
        rq->max = max;
        return true;
    }
    if (!allocate_block(&larger, max))
        return false;
    if (rq->cap)
        memcpy(larger.wqe, rq->wqe, (size_t)rq->cap * rq->wqe_len);
    larger.free_cnt = 0;
    for (uint32_t i = max; i > rq->cap; i--)
        larger.free[larger.free_cnt++] = (uint16_t)(i - 1);
    for (uint32_t i = 0; i < rq->free_cnt; i++)
        larger.free[larger.free_cnt++] = rq->free[i];
    for (uint32_t i = 0; i < rq->fifo_cnt; i++)
        larger.fifo[i] = rq->fifo[(rq->fifo_head + i) % rq->cap];
    larger.fifo_head = 0;
    larger.max = max;
    *old = rq->wqe;
    *rq = larger;
    return true;
}

struct rnic_rwqe *rnic_rq_moved(const struct rnic_rq *rq, const uint8_t *old,
                                const struct rnic_rwqe *wqe)
{
    return (struct rnic_rwqe *)(void *)(rq->wqe + ((const uint8_t *)wqe - old));
}

enum rnic_rq_post rnic_rq_post(struct rnic_rq *rq, const struct rnic_recv_wr *wr)
{
    struct rnic_rwqe *wqe;
    uint64_t len = 0;
    uint16_t idx;

    if (wr->sge_cnt > rq->max_sge)
        return RNIC_RQ_INVALID;
    if (rnic_rq_used(rq) >= rq->max)
        return RNIC_RQ_FULL;
    idx = rq->free[--rq->free_cnt];
    wqe = wqe_at(rq, idx);
    wqe->wr_id = wr->wr_id;
    wqe->sge_cnt = wr->sge_cnt;
    for (uint32_t i = 0; i < wr->sge_cnt; i++) {
        wqe->sge[i] = wr->sge[i];
        len += wr->sge[i].len;
    }
    wqe->len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
    rq->fifo[(rq->fifo_head + rq->fifo_cnt++) % rq->cap] = idx;
    return RNIC_RQ_POSTED;
}

const struct rnic_rwqe *rnic_rq_first(const struct rnic_rq *rq)
{
    return rq->fifo_cnt && !rq->broken ? wqe_at(rq, rq->fifo[rq->fifo_head]) : NULL;
}

struct rnic_rwqe *rnic_rq_take(struct rnic_rq *rq)
{
    uint32_t idx;

    if (rq->fifo_cnt == 0 || rq->broken)
        return NULL;
    idx = rq->fifo[rq->fifo_head];
    rq->fifo_head = (rq->fifo_head + 1) % rq->cap;
    rq->fifo_cnt--;
    if (rq->fifo_cnt < rq->limit) {
        if (!RNIC_FAULT(LIMIT_AGAIN))
            rq->limit = 0; /* the event is reported once (R196) */
        rq->low = true;
    }
    return wqe_at(rq, idx);
}

void rnic_rq_return(struct rnic_rq *rq, struct rnic_rwqe *wqe)
{
    assert(rq->free_cnt + rq->fifo_cnt < rq->cap); /* the returned WQE is neither free nor posted */
    rq->free[rq->free_cnt++] = (uint16_t)(((uint8_t *)wqe - rq->wqe) / rq->wqe_len);
}

void rnic_rq_clear(struct rnic_rq *rq)
{
    for (uint32_t i = 0; i < rq->cap; i++)
        /* The stack has the first WQE in memory on top, so that this WQE is posted first. */
        rq->free[i] = (uint16_t)(rq->cap - 1 - i);
    rq->free_cnt = rq->cap;
    rq->fifo_head = 0;
    rq->fifo_cnt = 0;
}

enum rnic_mem rnic_scatter_put(struct rnic_scatter *at, const struct rnic_rwqe *wqe,
                               const struct rnic_transport_ops *ops, void *qp, const uint8_t *src,
                               uint32_t len)
{
    while (len) {
        const struct rnic_sge *sge = &wqe->sge[at->idx];
        uint32_t room;
        uint8_t *dst;
        enum rnic_mem mem;

        assert(at->idx < wqe->sge_cnt); /* the caller checked that the bytes fit */
        room = sge->len - at->off;
        if (room == 0) {
            at->idx++;
            at->off = 0;
            continue;
        }
        if (room > len)
            room = len;
        /* If addr + off wraps beyond 2^64, the SGE is outside every region, and translate_recv()
         * refuses it. */
        mem = ops->translate_recv(qp, sge->lkey, sge->addr + at->off, room, &dst);
        if (mem != RNIC_MEM_OK)
            return mem;
        memcpy(dst, src, room);
        src += room;
        len -= room;
        at->off += room;
    }
    return RNIC_MEM_OK;
}
