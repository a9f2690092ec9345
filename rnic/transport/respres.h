/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responder resources: each stores the state of an executed READ or atomic, for the response to a
 * duplicate. The responder executes a duplicate READ again, and answers a duplicate atomic with the
 * stored original value (R111-R119). There are max_dest_rd_atomic resources, used in turn.
 *
 * The resources store positions (pos.h), not PSNs; the responder converts a PSN to a position.
 */
#ifndef RNIC_RESPRES_H
#define RNIC_RESPRES_H

#include "transport/pos.h"
#include "transport/work.h"
#include "wire/opcode.h"

struct rnic_respres {
    /* Parameters of the request when it was executed for the first time; a duplicate request does
     * not change them (R111). */
    rnic_pos pos; /* position of the request's first PSN */
    union {
        uint64_t va;   /* READ: remote address */
        uint64_t orig; /* atomic: value in memory before the operation (R114) */
    };
    uint32_t cnt;  /* number of PSNs of the request, >= 1 */
    uint32_t len;  /* READ: length, bytes */
    uint32_t rkey; /* READ: R_Key */
    uint32_t srqn; /* XRC READ: SRQ number; the SRQ's protection domain applies */

    /* Progress of the queued response. Packet k of a READ is at va + k * path MTU. */
    uint32_t left; /* READ: bytes not sent yet */
    uint32_t next; /* READ: packets already sent, 0 <= next < cnt */
    uint8_t kind;  /* READ, CMP_SWAP, FETCH_ADD, FLUSH or ATOMIC_WRITE; RESERVED: unused resource */
    bool response_queued;
    bool response_sent;    /* the whole response was sent once, so a response queued now is for a
                            * duplicate */
    bool response_started; /* READ: the next packet is Middle or Last, not First or Only */
};

struct rnic_respres_ring {
    struct rnic_respres res[RNIC_RD_ATOMIC_MAX];
    uint8_t max;  /* number of resources: max_dest_rd_atomic, 0..RNIC_RD_ATOMIC_MAX */
    uint8_t next; /* index of the oldest resource, which the next READ or atomic will use */
};

/* Clears all resources and sets their number to `max`. */
void rnic_respres_init(struct rnic_respres_ring *ring, uint8_t max);

/* Changes the number of resources and keeps the newest ones. No response may be queued. */
void rnic_respres_resize(struct rnic_respres_ring *ring, uint8_t max);

/* Returns the resource for the next READ or atomic. Returns NULL if the peer exceeds its limit: the
 * first responses to `max` earlier READs and atomics are not completely sent (R076). If a response
 * to a duplicate is queued for the resource, it is dropped when the resource is used again. A peer
 * within its limit already received that response. */
struct rnic_respres *rnic_respres_next(struct rnic_respres_ring *ring);

/* Assigns resource `res`, which is the oldest one, to a request. Marks its response as queued: the
 * caller queues the response, from the first PSN on, and sets address, length and value. */
void rnic_respres_use(struct rnic_respres_ring *ring, struct rnic_respres *res, enum roce_kind kind,
                      rnic_pos pos, uint32_t cnt);

/* Returns the READ of which a request at `pos` is a duplicate, or NULL (R116). A duplicate has the
 * R_Key of the original. Its address is advanced by whole packets of `mtu` bytes, and it ends
 * within the original range (R111, R112). */
struct rnic_respres *rnic_respres_read(struct rnic_respres_ring *ring, rnic_pos pos, uint64_t va,
                                       uint32_t len, uint32_t rkey, uint32_t mtu);

/* Returns the atomic, FLUSH or ATOMIC WRITE with this position and kind, or NULL (R115). */
struct rnic_respres *rnic_respres_atomic(struct rnic_respres_ring *ring, rnic_pos pos,
                                         enum roce_kind kind);

/* Restarts a READ response of `len` bytes at `pos` (R112) and returns true. While the first
 * response is still being sent, returns false if the duplicate begins after the packets already
 * sent, or ends before the end of the READ. The first response then continues. */
bool rnic_respres_restart(struct rnic_respres *res, rnic_pos pos, uint64_t va, uint32_t len);

#endif
