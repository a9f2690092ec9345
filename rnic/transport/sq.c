/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/sq.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "transport/fault.h"

#define ATOMIC_LEN 8u /* length of an atomic operand, bytes (R124) */

static uint32_t ring_size(uint32_t max)
{
    uint32_t cap = 1;

    while (cap < max)
        cap *= 2;
    return cap;
}

size_t rnic_sq_bytes(uint32_t max, uint32_t max_sge, uint32_t max_inline)
{
    return max == 0 ? 0
                    : ring_size(max) * (sizeof(struct rnic_swqe) +
                                        max_sge * sizeof(struct rnic_sge) + max_inline);
}

/* Sets the pointers to the arrays of the queue, all in one block for locality. */
static void lay_out_block(struct rnic_sq *sq)
{
    size_t cap = (size_t)sq->mask + 1;

    sq->sge = (struct rnic_sge *)(void *)(sq->wqe + cap);
    sq->data = (uint8_t *)(sq->sge + cap * sq->max_sge);
}

bool rnic_sq_init(struct rnic_sq *sq, uint32_t max, uint32_t max_sge, uint32_t max_inline)
{
    assert(max <= RNIC_WR_MAX && max_sge >= 1 && max_sge <= RNIC_SGE_MAX &&
           max_inline <= RNIC_INLINE_MAX);
    *sq = (struct rnic_sq){.max = max, .max_sge = max_sge, .max_inline = max_inline};
    if (max == 0)
        return true;
    sq->mask = ring_size(max) - 1;
    sq->wqe = calloc(1, rnic_sq_bytes(max, max_sge, max_inline));
    if (!sq->wqe) {
        rnic_sq_free(sq);
        return false;
    }
    lay_out_block(sq);
    return true;
}

void rnic_sq_use_block(struct rnic_sq *sq, void *room)
{
    assert(rnic_sq_empty(sq) && !sq->external_block);
    if (sq->max == 0)
        return;
    free(sq->wqe);
    sq->wqe = room;
    sq->external_block = true;
    lay_out_block(sq);
}

bool rnic_sq_add_dests(struct rnic_sq *sq)
{
    if (sq->max == 0)
        return true;
    sq->dest = calloc((size_t)sq->mask + 1, sizeof(*sq->dest));
    return sq->dest != NULL;
}

void rnic_sq_free(struct rnic_sq *sq)
{
    free(sq->dest);
    if (!sq->external_block)
        free(sq->wqe);
    *sq = (struct rnic_sq){0};
}

void rnic_sq_clear(struct rnic_sq *sq)
{
    sq->head = sq->tail;
    sq->oldest = sq->tail;
    sq->pos = 0;
    sq->ssn = 0;
}

static struct rnic_sge *wqe_sge(const struct rnic_sq *sq, const struct rnic_swqe *wqe)
{
    return sq->sge + (size_t)(wqe - sq->wqe) * sq->max_sge;
}

static uint8_t *wqe_data(const struct rnic_sq *sq, const struct rnic_swqe *wqe)
{
    return sq->data + (size_t)(wqe - sq->wqe) * sq->max_inline;
}

static bool opcode_exists(enum rnic_wr_opcode opcode)
{
    switch (opcode) {
    case RNIC_WR_WRITE:
    case RNIC_WR_WRITE_IMM:
    case RNIC_WR_SEND:
    case RNIC_WR_SEND_IMM:
    case RNIC_WR_READ:
    case RNIC_WR_CMP_SWAP:
    case RNIC_WR_FETCH_ADD:
    case RNIC_WR_LOCAL_INV:
    case RNIC_WR_BIND_MW:
    case RNIC_WR_SEND_INV:
    case RNIC_WR_FLUSH:
    case RNIC_WR_ATOMIC_WRITE: return true;
    }
    return false;
}

static bool flush_valid(const struct rnic_send_wr *wr)
{
    unsigned types = RNIC_FLUSH_GLOBAL | RNIC_FLUSH_PERSISTENT;

    return wr->flush.type != 0 && !(wr->flush.type & ~types) &&
           (wr->flush.level == RNIC_FLUSH_RANGE || wr->flush.level == RNIC_FLUSH_MR) &&
           wr->flush.len <= RNIC_MESSAGE_MAX;
}

/* Returns whether the work request is valid; sets *len to its message length. */
static bool wr_valid(const struct rnic_sq *sq, const struct rnic_send_wr *wr, uint64_t *len)
{
    *len = 0;
    if (!opcode_exists(wr->opcode) || (wr->flags & ~RNIC_SEND_FLAGS) || wr->sge_cnt > sq->max_sge)
        return false;
    for (uint32_t i = 0; i < wr->sge_cnt; i++)
        *len += wr->sge[i].len;
    if (rnic_wr_is_local(wr->opcode))
        return wr->sge_cnt == 0 && !(wr->flags & RNIC_SEND_INLINE);
    if (wr->opcode == RNIC_WR_FLUSH) {
        *len = wr->flush.len;
        return wr->sge_cnt == 0 && !(wr->flags & RNIC_SEND_INLINE) && flush_valid(wr);
    }
    if (wr->opcode == RNIC_WR_ATOMIC_WRITE)
        return *len == ATOMIC_LEN; /* with INLINE, the WQE itself stores these 8 bytes, so
                                    * max_inline does not limit them */
    if (rnic_wr_is_atomic(wr->opcode) && (wr->sge_cnt != 1 || *len != ATOMIC_LEN) &&
        !RNIC_FAULT(ATOMIC_LENGTH))
        return false;
    if (wr->flags & RNIC_SEND_INLINE)
        return !rnic_wr_is_fetch(wr->opcode) && *len <= sq->max_inline;
    return *len <= RNIC_MESSAGE_MAX;
}

/* Copies the inline data of a work request when it is posted (R136). */
static void copy_inline(uint8_t *data, const struct rnic_send_wr *wr)
{
    for (uint32_t i = 0; i < wr->sge_cnt; i++) {
        const struct rnic_sge *sge = &wr->sge[i];

        if (sge->len)
            memcpy(data, (const void *)(uintptr_t)sge->addr, sge->len);
        data += sge->len;
    }
}

/* Fills in the WQE members that have another meaning for each operation. */
static void fill_special(struct rnic_swqe *wqe, const struct rnic_send_wr *wr)
{
    switch (wr->opcode) {
    case RNIC_WR_LOCAL_INV:
    case RNIC_WR_SEND_INV: wqe->extra = wr->invalidate_key; break;
    case RNIC_WR_BIND_MW:
        wqe->extra = wr->mw.mr_key;
        wqe->rkey = wr->mw.rkey;
        wqe->va = wr->mw.addr;
        wqe->compare = wr->mw.len;
        wqe->swap_add = wr->mw.access;
        break;
    case RNIC_WR_FLUSH: wqe->extra = RNIC_SWQE_FLUSH(wr->flush.type, wr->flush.level); break;
    default: break;
    }
}

enum rnic_sq_post rnic_sq_post(struct rnic_sq *sq, const struct rnic_send_wr *wr, uint32_t mtu)
{
    struct rnic_swqe *wqe;
    uint64_t len;

    if (!wr_valid(sq, wr, &len))
        return RNIC_SQ_INVALID;
    if (sq->tail - sq->oldest >= sq->max)
        return RNIC_SQ_FULL;
    wqe = rnic_sq_wqe(sq, sq->tail++);
    *wqe = (struct rnic_swqe){
        .wr_id = wr->wr_id,
        .pos = sq->pos,
        .len = (uint32_t)len,
        .opcode = (uint8_t)wr->opcode,
        .flags = (uint8_t)wr->flags,
        .sge_cnt = (uint8_t)wr->sge_cnt,
        .va = wr->remote_addr,
        .rkey = wr->rkey,
        .compare = wr->compare_add,
        .extra = wr->imm,
    };
    if (wr->opcode == RNIC_WR_READ)
        wqe->read_pos = wqe->pos;
    else
        wqe->swap_add = wr->opcode == RNIC_WR_FETCH_ADD ? wr->compare_add : wr->swap;
    fill_special(wqe, wr);
    if (!rnic_wr_is_local(wr->opcode)) {
        wqe->psn_cnt = rnic_wr_is_atomic(wr->opcode) || rnic_wr_is_a19(wr->opcode)
                           ? 1
                           : roce_psn_cnt(wqe->len, mtu);
        sq->ssn = (sq->ssn + 1) & ROCE_PSN_MASK;
    }
    wqe->ssn = sq->ssn;
    sq->pos += wqe->psn_cnt;
    if (wr->flags & RNIC_SEND_INLINE)
        copy_inline(wr->opcode == RNIC_WR_ATOMIC_WRITE ? wqe->operand : wqe_data(sq, wqe), wr);
    else
        for (uint32_t i = 0; i < wr->sge_cnt; i++)
            wqe_sge(sq, wqe)[i] = wr->sge[i];
    return RNIC_SQ_POSTED;
}

bool rnic_sq_accepts(const struct rnic_sq *sq, const struct rnic_send_wr *wr)
{
    uint64_t len;

    return wr_valid(sq, wr, &len);
}

void rnic_sq_pop(struct rnic_sq *sq)
{
    assert(!rnic_sq_empty(sq)); /* the caller removes a WQE, so the queue is not empty */
    sq->head++;
}

void rnic_sq_retrieved(struct rnic_sq *sq, uint32_t number)
{
    uint32_t before = (number - sq->oldest) & ~RNIC_WQE_NUMBER; /* WQEs before this one */

    if (before < sq->head - sq->oldest)
        sq->oldest += before + 1;
}

/* Returns the SGE that contains byte *off of the message; sets *off to the offset in that SGE. */
static const struct rnic_sge *find_sge(const struct rnic_sq *sq, const struct rnic_swqe *wqe,
                                       uint32_t *off)
{
    const struct rnic_sge *sge = wqe_sge(sq, wqe);

    while (*off >= sge->len) {
        *off -= sge->len;
        sge++;
    }
    return sge;
}

enum rnic_mem rnic_sq_gather(const struct rnic_sq *sq, const struct rnic_swqe *wqe, uint32_t off,
                             uint32_t len, const struct rnic_transport_ops *ops, void *qp,
                             uint8_t *scratch, const uint8_t **out)
{
    const struct rnic_sge *sge;
    enum rnic_mem mem = RNIC_MEM_OK;
    uint8_t *src;

    assert(len > 0 && len <= wqe->len - off); /* the caller splits the message into packets */
    if (wqe->flags & RNIC_SEND_INLINE) {
        *out = wqe->opcode == RNIC_WR_ATOMIC_WRITE ? wqe->operand : wqe_data(sq, wqe) + off;
        return RNIC_MEM_OK;
    }
    sge = find_sge(sq, wqe, &off);
    if (sge->len - off >= len) {
        mem = ops->translate(qp, sge->lkey, sge->addr + off, len, 0, &src);
        if (mem == RNIC_MEM_OK)
            *out = src;
        return mem;
    }
    *out = scratch;
    for (; len && mem == RNIC_MEM_OK; sge++, off = 0) {
        uint32_t part = sge->len - off < len ? sge->len - off : len;

        if (part == 0)
            continue;
        mem = ops->translate(qp, sge->lkey, sge->addr + off, part, 0, &src);
        if (mem == RNIC_MEM_OK)
            memcpy(scratch, src, part);
        scratch += part;
        len -= part;
    }
    return mem;
}

enum rnic_mem rnic_sq_scatter(const struct rnic_sq *sq, const struct rnic_swqe *wqe, uint32_t off,
                              uint32_t len, const struct rnic_transport_ops *ops, void *qp,
                              const uint8_t *src)
{
    const struct rnic_sge *sge;

    assert(len > 0 && len <= wqe->len - off); /* the caller checked the length */
    for (sge = find_sge(sq, wqe, &off); len; sge++, off = 0) {
        uint32_t part = sge->len - off < len ? sge->len - off : len;
        enum rnic_mem mem;
        uint8_t *dst;

        if (part == 0)
            continue;
        mem = ops->translate(qp, sge->lkey, sge->addr + off, part, RNIC_ACCESS_LOCAL_WRITE, &dst);
        if (mem != RNIC_MEM_OK)
            return mem;
        memcpy(dst, src, part);
        src += part;
        len -= part;
    }
    return RNIC_MEM_OK;
}
