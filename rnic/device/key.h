/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory keys (L_Key, R_Key). A key belongs to a region or a window. The grant of the region or
 * window contains the memory, its address, the PD or QP that may use the key, and the access
 * rights. Packets are checked only against the grant.
 *
 * A region has one 32-bit key. A window owns the 256 keys that share a 24-bit prefix. One of these
 * keys is valid at a time; each bind may change its low 8 bits (R212). Therefore the device finds a
 * region by its key and a window by its prefix. No region gets a key with a window's prefix.
 */
#ifndef RNIC_KEY_H
#define RNIC_KEY_H

#include "device/pd.h"
#include "transport/transport_ops.h"

#define RNIC_KEY_TAG 0xFFu /* low bits of a window's key, which a bind may change (R212) */

/* Right of the local QPs to read the memory, in addition to the rights of enum rnic_access. The
 * grant of every region has this right. The grant of a window does not, because the key of a window
 * is not an L_Key. */
#define RNIC_GRANT_LOCAL_READ (1u << 30)

struct rnic_grant {
    uint8_t *addr;
    uint64_t len;
    uint64_t iova;            /* address of addr[0]; iova + len <= 2^64 - 1 */
    unsigned access;          /* bits of enum rnic_access and RNIC_GRANT_LOCAL_READ; 0: no access */
    const struct rnic_pd *pd; /* protection domain that the QP must have; NULL: any, for a bound
                               * type 2A window (R210) */
    const struct rnic_qp *qp; /* QP that may use the key; NULL: all QPs of the protection domain
                               * (R210) */
};

/* Implements rnic_transport_ops.translate for `qp`, which belongs to `pd`. */
enum rnic_mem rnic_key_translate(const struct rnic_pd *pd, const struct rnic_qp *qp, uint32_t key,
                                 uint64_t va, uint64_t len, unsigned access, uint8_t **out);

/* Implements rnic_transport_ops.check_whole_mr, which checks the key of a FLUSH of a whole region.
 */
enum rnic_mem rnic_key_check(const struct rnic_pd *pd, const struct rnic_qp *qp, uint32_t key,
                             unsigned access);

/* Implements rnic_transport_ops.invalidate. A key can be invalidated if it belongs to a region that
 * permits it, a type 2 window of this QP, or an unbound type 2 window of this PD (R203, R204,
 * R213). */
bool rnic_key_invalidate(const struct rnic_pd *pd, const struct rnic_qp *qp, uint32_t key);

/* Returns an unpredictable key that belongs to no region and no window. */
uint32_t rnic_key_choose(struct rnic *rnic);

/* Returns an unpredictable prefix (low 8 bits 0) that no key in use has. */
uint32_t rnic_key_choose_prefix(struct rnic *rnic);

/* Returns true if a region or a window owns the key. */
bool rnic_key_taken(const struct rnic *rnic, uint32_t key);

#endif
