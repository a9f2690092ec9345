/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Registry: how processes on one interface share its QPN space and CM ports without a daemon. A
 * process owns a name while it holds an abstract unix socket bound to it
 * ("\0rnic/<interface>/..."): one holder in a network namespace, and the kernel frees it however
 * the process ends. Such a socket is of datagrams and takes none; only proc/ is a stream's, in a
 * name space of its own.
 *
 *   qpnblk/<n>    QPNs n * 4096 .. n * 4096 + 4095, n = 1..4094
 *   gsi           who answers for QP 1 where nobody else does
 *   cm/<ps>/<n>   a port of the connection manager
 *   proc/<pid>    listens, and tells who connects what the process has
 */
#ifndef RNIC_PORT_REGISTRY_H
#define RNIC_PORT_REGISTRY_H

#include <stdio.h>
#include "device/entropy.h"
#include "port/loop.h"

#define RNIC_BLOCK_QPNS  4096u
#define RNIC_BLOCK_FIRST 1u    /* block 0 has QP 0 and 1 */
#define RNIC_BLOCK_LAST  4094u /* block 4095 has the multicast QPN */
#define RNIC_BLOCKS_MAX  64u   /* of one process: 262,144 QPNs */

/* A descriptor that holds the name, or -EADDRINUSE, -ENAMETOOLONG and the like. */
int rnic_registry_bind(const char *iface, const char *name);

/* Whether any process holds the name now: as the kernel says it, which needs no /proc and takes the
 * name from nobody. True also if it cannot be told (EMFILE): who is not known to be gone is there.
 */
bool rnic_registry_held(const char *iface, const char *name);

/* The same of the block of QPNs with that number. */
bool rnic_registry_block_held(const char *iface, uint32_t number);

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
struct rnic_qpns {
    char iface[RNIC_IFNAME_MAX];
    bool whole; /* nothing is shared: no names are bound */
    struct rnic_block *block;
    unsigned block_cnt;
};

/* Claims the first block. `whole`: QPNs are given out without claiming names. */
int rnic_qpns_init(struct rnic_qpns *qpns, const char *iface, bool whole,
                   struct rnic_entropy *entropy);
void rnic_qpns_fini(struct rnic_qpns *qpns);

/* After fork() in the child: lets go of the parent's names. */
void rnic_qpns_drop(struct rnic_qpns *qpns);
/* Claims the same blocks again: 0, or -EADDRINUSE when another has one; then it holds none. */
int rnic_qpns_restore(struct rnic_qpns *qpns);

/* A QPN, or 0 if the space is used up. *grew is set if another block was claimed for it. */
uint32_t rnic_qpns_get(struct rnic_qpns *qpns, struct rnic_entropy *entropy, bool *grew);
void rnic_qpns_put(struct rnic_qpns *qpns, uint32_t qpn);

/* A listening descriptor with the process's name, or a negative errno. */
int rnic_registry_listen(const char *iface);

/* Answers one process that connected: gives it what `describe` writes. Only root and the same user
 * are answered. Does not wait. */
void rnic_registry_answer(int fd, void (*describe)(void *user, FILE *out), void *user);

#endif
