/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Receive queue: the receive WQEs of a QP or an SRQ. Also copies messages to the scatter list of a
 * WQE. A WQE is free, posted, or taken by a message in progress. WQEs are taken in the order of
 * posting and may be returned in any order. */
#ifndef RNIC_RQ_H
#define RNIC_RQ_H

#include <stddef.h>
#include "transport/transport_ops.h"

struct rnic_rwqe {
    uint64_t wr_id;
    uint32_t len; /* total length of the SGEs, bytes; UINT32_MAX for any greater total, because no
                   * message is that long */
    uint32_t sge_cnt;
    struct rnic_sge sge[]; /* scatter list, max_sge entries */
};

struct rnic_rq {
    uint8_t *wqe; /* array of `cap` WQEs, each with its SGEs; in one block with `free` and `fifo` */
    uint16_t *free; /* stack: indices of free WQEs */
    uint16_t *fifo; /* ring: indices of posted WQEs */
    uint32_t wqe_len;
    uint32_t cap; /* number of WQEs in the block */
    uint32_t max; /* maximum number of WQEs posted or taken, <= cap */
    uint32_t max_sge;
    uint32_t free_cnt;
    uint32_t fifo_head;
    uint32_t fifo_cnt;
    /* SRQ limit (SRQ only). */
    uint32_t limit;      /* SRQ limit: `low` is set when fewer WQEs remain posted; 0: not armed
                          * (R196) */
    bool low;            /* the number of posted WQEs fell below the limit, which is now disarmed */
    bool external_block; /* the block belongs to the caller of rnic_rq_use_block() */
    bool broken;         /* the SRQ is in the error state: no WQE can be taken */
};

/* Allocates `max` (0..RNIC_WR_MAX) WQEs of up to `max_sge` (1..RNIC_SGE_MAX) SGEs. Returns false if
 * out of memory; *rq is then as after rnic_rq_free(). */
bool rnic_rq_init(struct rnic_rq *rq, uint32_t max, uint32_t max_sge);

/* Returns the number of bytes that rnic_rq_init() allocates. */
size_t rnic_rq_bytes(uint32_t max, uint32_t max_sge);

/* Moves an empty queue into a block of rnic_rq_bytes() bytes, after which it cannot be resized. The
 * caller frees the block after rnic_rq_free(). */
void rnic_rq_use_block(struct rnic_rq *rq, void *room);

/* Frees the queue; a zeroed queue is allowed. */
void rnic_rq_free(struct rnic_rq *rq);

enum rnic_rq_post { RNIC_RQ_POSTED, RNIC_RQ_FULL, RNIC_RQ_INVALID };

/* Posts a copy of *wr. Returns FULL if `max` WQEs are posted or taken, INVALID if *wr has too many
 * SGEs. */
enum rnic_rq_post rnic_rq_post(struct rnic_rq *rq, const struct rnic_recv_wr *wr);

/* Returns the WQE that rnic_rq_take() would return, without removing it from the queue; NULL if
 * there is none. */
const struct rnic_rwqe *rnic_rq_first(const struct rnic_rq *rq);

/* Removes and returns the oldest posted WQE, or NULL if there is none. The pointer is valid until
 * rnic_rq_return(). */
struct rnic_rwqe *rnic_rq_take(struct rnic_rq *rq);

/* Changes the maximum to `max` (0..RNIC_WR_MAX) while WQEs are posted or taken. Returns false and
 * changes nothing if out of memory, or if more than `max` WQEs are in use. If the WQEs moved to a
 * new block, *old is the old block, else NULL. The caller calls rnic_rq_moved() for each taken WQE
 * and then frees *old. */
bool rnic_rq_resize(struct rnic_rq *rq, uint32_t max, uint8_t **old);

/* Returns the new address of a WQE that was taken from the block `old`. */
struct rnic_rwqe *rnic_rq_moved(const struct rnic_rq *rq, const uint8_t *old,
                                const struct rnic_rwqe *wqe);

/* Returns a taken WQE to the free WQEs. */
void rnic_rq_return(struct rnic_rq *rq, struct rnic_rwqe *wqe);

/* Frees all WQEs, posted or taken; they get no completion (R190). */
void rnic_rq_clear(struct rnic_rq *rq);

static inline uint32_t rnic_rq_cnt(const struct rnic_rq *rq)
{
    return rq->fifo_cnt;
}

/* Returns the number of WQEs posted or taken. */
static inline uint32_t rnic_rq_used(const struct rnic_rq *rq)
{
    return rq->cap - rq->free_cnt;
}

/* Position of the next byte of a message in the scatter list of a WQE. All zero is the start. */
struct rnic_scatter {
    uint32_t idx; /* index of the SGE */
    uint32_t off; /* byte offset in that SGE */
};

/* Copies `len` bytes to position *at of the WQE's scatter list and advances *at. The caller has
 * checked that the bytes fit. translate_recv() translates each SGE. After a failure, bytes of
 * earlier SGEs may have been written (R091). */
enum rnic_mem rnic_scatter_put(struct rnic_scatter *at, const struct rnic_rwqe *wqe,
                               const struct rnic_transport_ops *ops, void *qp, const uint8_t *src,
                               uint32_t len);

#endif
