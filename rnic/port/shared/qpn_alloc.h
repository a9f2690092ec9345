/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QPNs: those of one process on one interface. Processes share the space by blocks, each a name of
 * the registry.
 */
#ifndef PORT_SHARED_QPN_ALLOC_H
#define PORT_SHARED_QPN_ALLOC_H

#include "base/entropy.h"
#include "port/net/iface.h"

#define RNIC_BLOCK_QPNS  4096u
#define RNIC_BLOCK_FIRST 1u    /* block 0 has QP 0 and 1 */
#define RNIC_BLOCK_LAST  4094u /* block 4095 has the multicast QPN */
#define RNIC_BLOCKS_MAX  64u   /* of one process: 262,144 QPNs */

/*
 * QPNs that were given back rest until so many later ones were: a peer may hold the connection of
 * the last QP of that number still, and refuses a new one as stale (R231, R234). Devices count
 * their QPNs up, with the same effect.
 */
#define RNIC_QPNS_REST 1024u

struct rnic_block {
    uint32_t number;
    int fd;
    uint32_t free;                       /* QPNs neither given out nor resting */
    uint64_t used[RNIC_BLOCK_QPNS / 64]; /* those that are not free */
    uint64_t resting[RNIC_BLOCK_QPNS / 64];
    uint16_t rest[RNIC_QPNS_REST]; /* a ring; the oldest is at rest_first */
    unsigned rest_first, rest_cnt;
};

/* The QPNs of one process on one interface. */
struct rnic_qpn_alloc {
    char iface[RNIC_IFNAME_MAX];
    bool whole; /* nothing is shared: no names are bound */
    struct rnic_block *block;
    unsigned block_cnt;
};

/* Claims the first block. `whole`: QPNs are given out without claiming names. */
int rnic_qpn_alloc_init(struct rnic_qpn_alloc *qpns, const char *iface, bool whole,
                        struct rnic_entropy *entropy);
void rnic_qpn_alloc_fini(struct rnic_qpn_alloc *qpns);

/* After fork() in the child: lets go of the parent's names. */
void rnic_qpn_alloc_drop(struct rnic_qpn_alloc *qpns);
/* The same without closing: the descriptors are another's. */
void rnic_qpn_alloc_forget(struct rnic_qpn_alloc *qpns);
/* Claims the same blocks again: 0, or -EADDRINUSE when another has one; then it holds none. */
int rnic_qpn_alloc_restore(struct rnic_qpn_alloc *qpns);

/* A QPN, or 0 if the space is used up. *grew is set if another block was claimed for it. */
uint32_t rnic_qpn_alloc_get(struct rnic_qpn_alloc *qpns, struct rnic_entropy *entropy, bool *grew);
void rnic_qpn_alloc_put(struct rnic_qpn_alloc *qpns, uint32_t qpn);

/* Whether any process has the block of that number: as rnic_registry_held(). */
bool rnic_qpn_alloc_block_held(const char *iface, uint32_t number);

#endif
