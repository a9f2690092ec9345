/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* MR: a memory region: which bytes a key opens, at which addresses, for whom, and for what. */
#ifndef RNIC_MR_H
#define RNIC_MR_H

#include "device/list.h"
#include "device/pd.h"
#include "transport/host.h"

struct rnic_mr {
    struct rnic_pd *pd;
    struct rnic_list link; /* rnic.mrs */
    uint8_t *addr;
    uint64_t len;
    uint64_t iova; /* iova + len <= 2^64 - 1 */
    unsigned access;
    uint32_t key;
    bool invalidate;  /* a peer may invalidate it */
    bool invalidated; /* a peer did: the key opens nothing any more */
};

/* What rnic_host.mem says, for a QP of `pd`. */
enum rnic_mem rnic_mr_translate(const struct rnic_pd *pd, uint32_t key, uint64_t va, uint64_t len,
                                unsigned access, uint8_t **out);

/* What rnic_host.invalidate says, for a QP of `pd`. */
bool rnic_mr_invalidate(const struct rnic_pd *pd, uint32_t key);

#endif
