/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responder resources: what a responder remembers of the READs and atomics it executed, so that it
 * can answer a duplicate: a READ is read again, an atomic's original value is kept (R111-R119).
 * There are as many as the QP's max_dest_rd_atomic, used in turn.
 *
 * Places in the request stream are not PSNs but positions (pos.h). The responder converts.
 */
#ifndef RNIC_RESPRES_H
#define RNIC_RESPRES_H

#include "transport/pos.h"
#include "transport/work.h"
#include "wire/opcode.h"

struct rnic_respres {
    /* The request as first executed; a restart changes none of this (R111). */
    rnic_pos pos; /* of its first PSN */
    union {
        uint64_t va;   /* READ */
        uint64_t orig; /* atomics: the value before (R114) */
    };
    uint32_t cnt;  /* PSNs it consumed, >= 1 */
    uint32_t len;  /* READ: bytes */
    uint32_t rkey; /* READ */
    uint32_t srqn; /* READ of XRC: whose keys it uses */

    /* The answer that is owed, if any. Packet k of a READ is at va + k * path MTU. */
    uint32_t left; /* READ: bytes from the packet next sent on */
    uint32_t next; /* READ: packets before the one next sent, 0 <= next < cnt */
    uint8_t kind;  /* READ, CMP_SWAP, FETCH_ADD, FLUSH or ATOMIC_WRITE; RESERVED: unused */
    bool response_queued;
    bool response_sent;    /* it was sent to the end once: what is owed now is a replay */
    bool response_started; /* READ: the packet next sent continues a response, else it begins one */
};

struct rnic_respres_ring {
    struct rnic_respres res[RNIC_RD_ATOMIC_MAX];
    uint8_t max;  /* max_dest_rd_atomic: resources in use, 0..RNIC_RD_ATOMIC_MAX */
    uint8_t next; /* index of the oldest one, which is used next */
};

/* Forgets everything; `max` resources from now on. */
void rnic_respres_init(struct rnic_respres_ring *ring, uint8_t max);

/* Another number of resources; none owes an answer. The newest are kept. */
void rnic_respres_resize(struct rnic_respres_ring *ring, uint8_t max);

/* The resource that the next READ or atomic will use, or NULL when the peer has more of them
 * outstanding than it may: `max` answers that were never sent to the end are owed (R076). A replay
 * still owed by the one returned is not wanted any more: the peer, keeping to its limit, has the
 * answer. */
struct rnic_respres *rnic_respres_next(struct rnic_respres_ring *ring);

/* Takes that resource for a request whose answer is owed from its first PSN on; address, length and
 * value are the caller's to set. */
void rnic_respres_use(struct rnic_respres_ring *ring, struct rnic_respres *res, enum roce_kind kind,
                      rnic_pos pos, uint32_t cnt);

/*
 * The READ that a duplicate READ request at `pos` repeats from there on: same R_Key, address
 * advanced by whole packets of `mtu` bytes, nothing beyond the original range (R111, R112). NULL if
 * none is remembered (R116).
 */
struct rnic_respres *rnic_respres_read(struct rnic_respres_ring *ring, rnic_pos pos, uint64_t va,
                                       uint32_t len, uint32_t rkey, uint32_t mtu);

/* The atomic, FLUSH or ATOMIC WRITE of this position and kind, or NULL (R115). */
struct rnic_respres *rnic_respres_atomic(struct rnic_respres_ring *ring, rnic_pos pos,
                                         enum roce_kind kind);

/*
 * Makes the resource owe a READ response of `len` bytes that begins at `pos` (R112). False if it
 * owes a first answer that this request does not fit: one that starts behind what was sent, or
 * that ends early; the answer under way then goes on.
 */
bool rnic_respres_restart(struct rnic_respres *res, rnic_pos pos, uint64_t va, uint32_t len);

#endif
