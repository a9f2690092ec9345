/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Memory region: registered memory and its key. */
#ifndef RNIC_MR_H
#define RNIC_MR_H

#include "device/key.h"
#include "device/list.h"

struct rnic_mr {
    struct rnic_grant grant; /* memory and rights of the region; grant.access is 0 after a peer
                              * invalidated the region */
    struct rnic_pd *pd;
    struct rnic_list link; /* link in rnic.mrs */
    uint32_t key;
    uint32_t windows; /* number of windows bound to the region (R213) */
    unsigned access;  /* access flags of the registration, including ZERO_BASED and MW_BIND */
    bool invalidate;  /* a peer is allowed to invalidate the region */
};

/* Invalidates the key until rnic_mr_rereg(). Returns false if the region does not permit
 * invalidation, is already invalid, or has bound windows (o10-37.2.17, R213). */
bool rnic_mr_invalidate(struct rnic_mr *mr);

#endif
