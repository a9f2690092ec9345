/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Receive queue: the receive WQEs posted to a QP or to an SRQ, and where a message is put that uses
 * one. A WQE is free, posted, or taken by a message that is arriving; WQEs are taken in the order
 * of posting, and may be given back in any order.
 */
#ifndef RNIC_RQ_H
#define RNIC_RQ_H

#include <stddef.h>
#include "transport/transport_ops.h"

struct rnic_rwqe {
    uint64_t wr_id;
    uint32_t len; /* bytes of all SGEs, or UINT32_MAX if they are more: no message is that long */
    uint32_t sge_cnt;
    struct rnic_sge sge[]; /* max_sge */
};

struct rnic_rq {
    uint8_t *wqe;   /* all `cap` of them, each with its SGEs; one block with what follows */
    uint16_t *free; /* stack: indices of free WQEs */
    uint16_t *fifo; /* ring: indices of posted WQEs */
    uint32_t wqe_len;
    uint32_t cap; /* WQEs there is room for */
    uint32_t max; /* of those that may be in use, <= cap */
    uint32_t max_sge;
    uint32_t free_cnt;
    uint32_t fifo_head;
    uint32_t fifo_cnt;
    /* Of an SRQ: */
    uint32_t limit; /* armed: `low` is set when fewer than this are posted; 0: not armed (R196) */
    bool low;       /* the limit was passed, and is not armed any more */
    bool external_block; /* wqe and what follows is somebody else's block */
    bool broken;         /* in the error state: gives no WQE any more */
};

/* Room for `max` (0..RNIC_WR_MAX) WQEs of up to `max_sge` (1..RNIC_SGE_MAX) SGEs. False without
 * memory; *rq is then as after rnic_rq_free(). */
bool rnic_rq_init(struct rnic_rq *rq, uint32_t max, uint32_t max_sge);

/* Bytes of a queue's WQEs, as rnic_rq_init() takes them. */
size_t rnic_rq_bytes(uint32_t max, uint32_t max_sge);

/* The queue, which is empty, lives in these rnic_rq_bytes() bytes from now on, and is not resized
 * any more. They are the caller's again after rnic_rq_free(). */
void rnic_rq_use_block(struct rnic_rq *rq, void *room);

/* A zeroed queue is fine. */
void rnic_rq_free(struct rnic_rq *rq);

enum rnic_rq_post { RNIC_RQ_POSTED, RNIC_RQ_FULL, RNIC_RQ_INVALID };

/* Posts a copy of *wr. FULL: `max` WQEs are posted or taken. INVALID: too many SGEs. */
enum rnic_rq_post rnic_rq_post(struct rnic_rq *rq, const struct rnic_recv_wr *wr);

/* The WQE that rnic_rq_take() would give; it stays posted. */
const struct rnic_rwqe *rnic_rq_first(const struct rnic_rq *rq);

/* The oldest posted WQE, now taken, or NULL if there is none. Valid until it is given back. */
struct rnic_rwqe *rnic_rq_take(struct rnic_rq *rq);

/*
 * Another `max` (0..RNIC_WR_MAX), while WQEs are posted and taken. False, and nothing changed,
 * without memory or if more than `max` are in use. If the WQEs moved, *old is where they were: the
 * caller finds those that were taken by rnic_rq_moved() and then frees it with free(); else NULL.
 */
bool rnic_rq_resize(struct rnic_rq *rq, uint32_t max, uint8_t **old);

/* Where a WQE is now that was taken when the queue was at `old`. */
struct rnic_rwqe *rnic_rq_moved(const struct rnic_rq *rq, const uint8_t *old,
                                const struct rnic_rwqe *wqe);

/* Gives a taken WQE back: it is free. */
void rnic_rq_return(struct rnic_rq *rq, struct rnic_rwqe *wqe);

/* Frees all WQEs, posted or taken, without a completion (R190). */
void rnic_rq_clear(struct rnic_rq *rq);

static inline uint32_t rnic_rq_cnt(const struct rnic_rq *rq)
{
    return rq->fifo_cnt;
}

/* WQEs posted or taken. */
static inline uint32_t rnic_rq_used(const struct rnic_rq *rq)
{
    return rq->cap - rq->free_cnt;
}

/* Where in the SGEs of a WQE the next byte of its message goes. Zero is the start. */
struct rnic_scatter {
    uint32_t idx; /* SGE */
    uint32_t off; /* byte in that SGE */
};

/*
 * Puts `len` bytes into the WQE from *at on and moves *at; the caller has checked that they fit.
 * Each SGE that receives bytes is translated by the device's translate_recv. On failure bytes of
 * earlier SGEs may have been written (R091).
 */
enum rnic_mem rnic_scatter_put(struct rnic_scatter *at, const struct rnic_rwqe *wqe,
                               const struct rnic_transport_ops *ops, void *qp, const uint8_t *src,
                               uint32_t len);

#endif
