/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* MR: a memory region: bytes that a user opened, under a key. */
#ifndef RNIC_MR_H
#define RNIC_MR_H

#include "device/key.h"
#include "device/list.h"

struct rnic_mr {
    struct rnic_grant grant; /* access 0 after a peer invalidated it */
    struct rnic_pd *pd;
    struct rnic_list link; /* rnic.mrs */
    uint32_t key;
    uint32_t windows; /* bound to it (R213) */
    unsigned access;  /* as registered, ZERO_BASED and MW_BIND too */
    bool invalidate;  /* a peer may invalidate it */
};

/* Takes the key away, until rnic_mr_rereg(). False if it is not to be: not registered so, already
 * invalid, or windows are bound to it (o10-37.2.17, R213). */
bool rnic_mr_invalidate(struct rnic_mr *mr);

#endif
