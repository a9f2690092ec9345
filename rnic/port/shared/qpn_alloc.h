/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QPN allocator: the QPNs of one process on one interface. The processes of an interface divide
 * its QPN space into blocks. To claim a block, a process registers a name for it in the registry
 * (registry.h), which gives each name to one process only.
 */
#ifndef PORT_SHARED_QPN_ALLOC_H
#define PORT_SHARED_QPN_ALLOC_H

#include "base/entropy.h"
#include "port/net/iface.h"

#define RNIC_BLOCK_QPNS  4096u /* number of QPNs of a block */
#define RNIC_BLOCK_FIRST 1u    /* first block for processes; block 0 contains QP 0 and QP 1 */
#define RNIC_BLOCK_LAST  4094u /* last block for processes; block 4095 has the multicast QPN */
#define RNIC_BLOCKS_MAX  64u   /* maximum number of blocks of one process: 262,144 QPNs */

/*
 * A freed QPN rests: it is allocated again only after this number of other QPNs was freed. A peer
 * may still have a connection with the freed QPN, and would reject a new connection as stale (R231,
 * R234). Hardware that assigns ascending QPNs has the same effect.
 */
#define RNIC_QPNS_REST 1024u

struct rnic_block_name {
    char text[32];
};

struct rnic_block {
    uint32_t number;
    int fd;
    uint32_t free; /* number of QPNs that can be allocated: neither in use nor resting
                    * (RNIC_QPNS_REST) */
    uint64_t used[RNIC_BLOCK_QPNS / 64]; /* bit map of the QPNs that are in use or resting
                                          * (RNIC_QPNS_REST) */
    uint64_t resting[RNIC_BLOCK_QPNS / 64];
    uint16_t rest[RNIC_QPNS_REST]; /* ring buffer of the resting QPNs (RNIC_QPNS_REST); the QPN
                                    * that was freed first is at rest_first */
    unsigned rest_first, rest_cnt;
};

/* All QPNs of one process on one interface. */
struct rnic_qpn_alloc {
    char iface[RNIC_IFNAME_MAX];
    bool whole; /* the process owns the whole QPN space and registers no names */
    struct rnic_block *block;
    unsigned block_cnt;
};

/* Claims the first block of QPNs: registers the name of the block in the registry (registry.h).
 * With `whole`, the process gets the whole QPN space of the interface and registers no name.
 * Returns 0 or a negative errno. */
int rnic_qpn_alloc_init(struct rnic_qpn_alloc *qpns, const char *iface, bool whole,
                        struct rnic_entropy *entropy);
void rnic_qpn_alloc_fini(struct rnic_qpn_alloc *qpns);

/* In a child of fork(): closes its copies of the sockets with which the parent claims its QPN
 * blocks. */
void rnic_qpn_alloc_drop(struct rnic_qpn_alloc *qpns);
/* Forgets the descriptors of the sockets that claim the blocks, without closing them. Other files
 * may now have these descriptor numbers. The data of the blocks stays. */
void rnic_qpn_alloc_forget(struct rnic_qpn_alloc *qpns);
/* Allocates a QPN. Returns the QPN, or 0 if none is left. Sets *grew if it claimed another block.
 */
uint32_t rnic_qpn_alloc_get(struct rnic_qpn_alloc *qpns, struct rnic_entropy *entropy, bool *grew);
void rnic_qpn_alloc_put(struct rnic_qpn_alloc *qpns, uint32_t qpn);

/* Returns the name in the registry that belongs to block `number`. */
struct rnic_block_name rnic_qpn_alloc_block_name(uint32_t number);

#endif
