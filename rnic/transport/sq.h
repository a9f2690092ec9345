/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Send queue: a ring of send WQEs. Each gets its PSNs when it is posted, because the order of
 * posting is the order of sending (R129): so where a WQE stands in the request stream never
 * changes, however often its packets are sent.
 *
 * WQEs are named by an index that counts up for ever (modulo 2^32); those from `head` up to, not
 * including, `tail` are there.
 */
#ifndef RNIC_SQ_H
#define RNIC_SQ_H

#include "transport/transport_ops.h"
#include "transport/pos.h"
#include "transport/send.h"
#include "wire/header_template.h"

#define RNIC_SWQE_FIRST_ACKREQ                                                                     \
    0x80u /* its first packet asked for an ACK, to learn of credits (R134) */

struct rnic_swqe {
    uint64_t wr_id;
    rnic_pos pos;     /* of its first PSN */
    uint32_t psn_cnt; /* R057-R059; 0 of local operations */
    uint32_t len;     /* bytes of the message, 0..RNIC_MESSAGE_MAX */
    uint8_t opcode;   /* enum rnic_wr_opcode */
    uint8_t flags;    /* enum rnic_send_flags, RNIC_SWQE_FIRST_ACKREQ */
    uint8_t sge_cnt;
    uint8_t status; /* enum rnic_wc_status: why it cannot be sent; completes so in its turn */
    uint32_t extra; /* immediate data; the key to invalidate; BIND_MW: the region's; FLUSH */
    union {
        uint32_t ssn;  /* number of its message on the connection, from 1, 24 bit (R135) */
        uint32_t srqn; /* XRC, which has no credits: the peer's SRQ */
    };
    uint32_t rkey;
    uint64_t va;
    union {
        uint64_t compare;   /* CMP_SWAP; BIND_MW: length */
        uint8_t operand[8]; /* ATOMIC_WRITE, inline */
    };
    union {
        uint64_t swap_add; /* atomics; BIND_MW: access */
        rnic_pos read_pos; /* READ: where its request, as last sent, begins */
    };
};

/* FLUSH: rnic_swqe.extra. */
#define RNIC_SWQE_FLUSH(type, level) ((uint32_t)(type) | (uint32_t)(level) << 8)
#define RNIC_SWQE_FLUSH_TYPE(extra)  ((uint8_t)((extra)&0xFF))
#define RNIC_SWQE_FLUSH_LEVEL(extra) ((uint8_t)((extra) >> 8))

/* Where a datagram goes: what its address handle said when it was posted. */
struct rnic_dest {
    struct roce_header_template env;
    uint32_t qpn;
    uint32_t qkey;
};

struct rnic_sq {
    struct rnic_swqe *wqe;  /* ring of mask + 1, in one block with what follows */
    struct rnic_sge *sge;   /* max_sge for each WQE */
    uint8_t *data;          /* max_inline for each WQE */
    struct rnic_dest *dest; /* datagram services: one for each WQE, else NULL */
    uint32_t mask;
    uint32_t max;
    uint32_t max_sge;
    uint32_t max_inline;
    uint32_t head; /* the oldest that is not complete */
    uint32_t tail;
    rnic_pos pos;        /* of the next WQE posted */
    uint32_t ssn;        /* of the last message posted */
    bool external_block; /* wqe and what follows is somebody else's block */
};

/* Room for `max` (0..RNIC_WR_MAX) WQEs of up to `max_sge` (1..RNIC_SGE_MAX) SGEs and `max_inline`
 * (0..RNIC_INLINE_MAX) bytes. False without memory; *sq is then as after rnic_sq_free(). */
bool rnic_sq_init(struct rnic_sq *sq, uint32_t max, uint32_t max_sge, uint32_t max_inline);

/* Adds room for the destinations of datagrams to a queue just made. False without memory. */
bool rnic_sq_add_dests(struct rnic_sq *sq);

/* Bytes of a queue's WQEs, SGEs and inline data, as rnic_sq_init() takes them. */
size_t rnic_sq_bytes(uint32_t max, uint32_t max_sge, uint32_t max_inline);

/* The queue, which is empty, lives in these rnic_sq_bytes() zero bytes from now on. They are the
 * caller's again after rnic_sq_free(). */
void rnic_sq_use_block(struct rnic_sq *sq, void *room);

/* A zeroed queue is fine. */
void rnic_sq_free(struct rnic_sq *sq);

/* Empties the queue without completions (R190); the next WQE begins a connection. */
void rnic_sq_clear(struct rnic_sq *sq);

enum rnic_sq_post { RNIC_SQ_POSTED, RNIC_SQ_FULL, RNIC_SQ_INVALID };

/* Posts a copy of *wr, inline data included; a message takes PSNs for a path MTU of `mtu` bytes,
 * and the caller sets srqn of an XRC message. INVALID: an opcode or flag that does not exist, too
 * many SGEs, too long for inline or for a message, INLINE with data to come (C10: not for READ and
 * atomics), an atomic or ATOMIC_WRITE without its 8 bytes (R124, R126), a FLUSH of no or an unknown
 * type or level. */
enum rnic_sq_post rnic_sq_post(struct rnic_sq *sq, const struct rnic_send_wr *wr, uint32_t mtu);

/* Whether that is not INVALID. */
bool rnic_sq_accepts(const struct rnic_sq *sq, const struct rnic_send_wr *wr);

/* The oldest WQE is done with. */
void rnic_sq_pop(struct rnic_sq *sq);

/*
 * `len` > 0 bytes of the message from `off` on: where they are if they lie together in memory,
 * else a copy in `scratch`, which has room for `len`. RNIC_MEM_OK, or why the local memory may not
 * be read; *out is then not set.
 */
enum rnic_mem rnic_sq_gather(const struct rnic_sq *sq, const struct rnic_swqe *wqe, uint32_t off,
                             uint32_t len, const struct rnic_transport_ops *ops, void *qp,
                             uint8_t *scratch, const uint8_t **out);

/* The counterpart for data that a READ or atomic brings: `len` > 0 bytes to `off` of the WQE's
 * SGEs. */
enum rnic_mem rnic_sq_scatter(const struct rnic_sq *sq, const struct rnic_swqe *wqe, uint32_t off,
                              uint32_t len, const struct rnic_transport_ops *ops, void *qp,
                              const uint8_t *src);

static inline struct rnic_swqe *rnic_sq_wqe(const struct rnic_sq *sq, uint32_t idx)
{
    return &sq->wqe[idx & sq->mask];
}

static inline struct rnic_dest *rnic_sq_dest(const struct rnic_sq *sq, uint32_t idx)
{
    return &sq->dest[idx & sq->mask];
}

static inline uint32_t rnic_sq_cnt(const struct rnic_sq *sq)
{
    return sq->tail - sq->head;
}

static inline bool rnic_sq_empty(const struct rnic_sq *sq)
{
    return sq->tail == sq->head;
}

/* Asks for where the next WQE and its first SGEs will be written. */
static inline void rnic_sq_prefetch(const struct rnic_sq *sq)
{
    uint32_t i = sq->tail & sq->mask;

    if (!sq->wqe)
        return;
    __builtin_prefetch(&sq->wqe[i], 1);
    __builtin_prefetch(&sq->sge[(size_t)i * sq->max_sge], 1);
}

/* The position after a WQE's last PSN. */
static inline rnic_pos rnic_swqe_end(const struct rnic_swqe *wqe)
{
    return wqe->pos + wqe->psn_cnt;
}

#endif
