/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Send queue: a ring of send WQEs. Posting assigns PSNs to a WQE, because requests are sent in the
 * order of posting (R129). A WQE's position in the request stream never changes, however often its
 * packets are retransmitted.
 *
 * WQE indices count up without end (modulo 2^32). The queue contains the indices from `head` up to,
 * but without, `tail`. The WQEs from `oldest` up to, but without, `head` are complete, but still
 * use their slots. The program frees these slots when it retrieves the completion of one of them or
 * of a later WQE (10.8.5.1).
 */
#ifndef RNIC_SQ_H
#define RNIC_SQ_H

#include "transport/pos.h"
#include "transport/send.h"
#include "transport/transport_ops.h"
#include "wire/header_template.h"

/* bit set in all WQE numbers passed to the device, so that no number is 0 */
#define RNIC_WQE_NUMBER        0x80000000u
#define RNIC_SWQE_FIRST_ACKREQ 0x80u /* the first packet has AckReq, to get credits (R134) */

struct rnic_swqe {
    uint64_t wr_id;
    rnic_pos pos;     /* position of the WQE's first PSN */
    uint32_t psn_cnt; /* number of PSNs of the message (R057-R059); 0 for local operations */
    uint32_t len;     /* message length, bytes, 0..RNIC_MESSAGE_MAX */
    uint8_t opcode;   /* enum rnic_wr_opcode */
    uint8_t flags;    /* enum rnic_send_flags and RNIC_SWQE_FIRST_ACKREQ */
    uint8_t sge_cnt;
    uint8_t status; /* enum rnic_wc_status: reason why the WQE cannot be sent, which is also its
                     * completion status */
    uint32_t extra; /* immediate data; or key to invalidate; BIND_MW: key of the region; FLUSH: type
                     * and level */
    union {
        uint32_t ssn;  /* send sequence number (SSN) of the message, from 1, 24 bit (R135) */
        uint32_t srqn; /* XRC: SRQ number at the peer (XRC has no credits) */
    };
    uint32_t rkey;
    uint64_t va;
    union {
        uint64_t compare;   /* CMP_SWAP: value to compare; BIND_MW: length */
        uint8_t operand[8]; /* ATOMIC_WRITE: inline data */
    };
    union {
        uint64_t swap_add; /* atomics: value to swap or add; BIND_MW: access */
        rnic_pos read_pos; /* READ: position of the first PSN of the latest READ request */
    };
};

/* Encoding of a FLUSH's type and level in rnic_swqe.extra. */
#define RNIC_SWQE_FLUSH(type, level) ((uint32_t)(type) | (uint32_t)(level) << 8)
#define RNIC_SWQE_FLUSH_TYPE(extra)  ((uint8_t)((extra)&0xFF))
#define RNIC_SWQE_FLUSH_LEVEL(extra) ((uint8_t)((extra) >> 8))

/* Destination of a datagram, copied from its address handle at posting. */
struct rnic_dest {
    struct roce_header_template env;
    uint32_t qpn;
    uint32_t qkey;
};

struct rnic_sq {
    struct rnic_swqe *wqe; /* ring of mask + 1 entries, in one block with `sge` and `data` */
    struct rnic_sge *sge;  /* scatter/gather lists, max_sge entries for each WQE */
    uint8_t *data;         /* inline data, max_inline bytes for each WQE */
    struct rnic_dest
        *dest; /* destinations of datagrams, one for each WQE; NULL for other services */
    uint32_t mask;
    uint32_t max;
    uint16_t max_inline;
    uint8_t max_sge;
    bool external_block; /* the block belongs to the caller of rnic_sq_use_block() */
    uint32_t oldest;     /* index of the oldest WQE that uses a slot, complete or not */
    uint32_t head;       /* index of the oldest WQE that the requester has not completed */
    uint32_t tail;
    rnic_pos pos; /* position of the next posted WQE */
    uint32_t ssn; /* SSN of the last message posted */
};

/* Allocates `max` (0..RNIC_WR_MAX) WQEs of up to `max_sge` (1..RNIC_SGE_MAX) SGEs and
 * `max_inline` (0..RNIC_INLINE_MAX) bytes. Returns false if out of memory; *sq is then as after
 * rnic_sq_free(). */
bool rnic_sq_init(struct rnic_sq *sq, uint32_t max, uint32_t max_sge, uint32_t max_inline);

/* Allocates the destinations of a new queue for datagrams. Returns false if out of memory. */
bool rnic_sq_add_dests(struct rnic_sq *sq);

/* Returns the number of bytes that rnic_sq_init() allocates. */
size_t rnic_sq_bytes(uint32_t max, uint32_t max_sge, uint32_t max_inline);

/* Moves an empty queue into a zeroed block of rnic_sq_bytes() bytes. The caller frees the block
 * after rnic_sq_free(). */
void rnic_sq_use_block(struct rnic_sq *sq, void *room);

/* Frees the queue; a zeroed queue is allowed. */
void rnic_sq_free(struct rnic_sq *sq);

/* Removes all WQEs without completions (R190), and resets `pos` and `ssn` for a new connection. */
void rnic_sq_clear(struct rnic_sq *sq);

enum rnic_sq_post { RNIC_SQ_POSTED, RNIC_SQ_FULL, RNIC_SQ_INVALID };

/* Posts a copy of *wr with its inline data. PSNs are counted for a path MTU of `mtu` bytes; the
 * caller sets srqn of an XRC message. Returns INVALID for an unknown opcode or flag, too many SGEs,
 * and too much data for inline or for a message. Returns INVALID also for INLINE with a READ or an
 * atomic (C10), for an atomic or ATOMIC_WRITE whose data is not 8 bytes long (R124, R126), and for
 * a FLUSH with an unknown type or level. Returns FULL if `max` WQEs use slots. */
enum rnic_sq_post rnic_sq_post(struct rnic_sq *sq, const struct rnic_send_wr *wr, uint32_t mtu);

/* Returns true if rnic_sq_post() would not return INVALID for *wr. The queue may be full. */
bool rnic_sq_accepts(const struct rnic_sq *sq, const struct rnic_send_wr *wr);

/* Marks the oldest incomplete WQE as complete. The WQE still uses its slot until
 * rnic_sq_retrieved() frees it. */
void rnic_sq_pop(struct rnic_sq *sq);

/* Frees the slots of a WQE and of all before it, because the program retrieved its completion.
 * `number` is the WQE's index, with the bit RNIC_WQE_NUMBER or without. Ignores an index that is
 * not in the queue, for example from before rnic_sq_clear(). */
void rnic_sq_retrieved(struct rnic_sq *sq, uint32_t number);

/* Finds `len` > 0 bytes of the message at offset `off`. *out points to them if they are contiguous
 * in memory, else to a copy in `scratch` (`len` bytes). Returns RNIC_MEM_OK, or the reason why the
 * L_Key does not permit the read; *out is then undefined. */
enum rnic_mem rnic_sq_gather(const struct rnic_sq *sq, const struct rnic_swqe *wqe, uint32_t off,
                             uint32_t len, const struct rnic_transport_ops *ops, void *qp,
                             uint8_t *scratch, const uint8_t **out);

/* Writes `len` > 0 bytes of a READ response or Atomic ACK to the WQE's scatter list at offset
 * `off`. Returns RNIC_MEM_OK or the reason of failure. */
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

/* Returns the position after a WQE's last PSN. */
static inline rnic_pos rnic_swqe_end(const struct rnic_swqe *wqe)
{
    return wqe->pos + wqe->psn_cnt;
}

#endif
