/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Key: what an L_Key or R_Key opens: which bytes, at which addresses, for whom, and for what. A key
 * names a region or a window; both have a grant, which is all that a packet is checked against.
 *
 * A region has one key of 32 bits. A window owns all 256 keys of one prefix, of which one is good
 * at a time: the low 8 bits are the consumer's to change (R212). So a region is found by its key
 * and a window by its prefix, and no region is given a key of a window's prefix.
 */
#ifndef RNIC_KEY_H
#define RNIC_KEY_H

#include "device/pd.h"
#include "transport/transport_ops.h"

#define RNIC_KEY_TAG 0xFFu /* the bits of a window's key that are the consumer's */

/* Beside enum rnic_access: to be read by the own QPs. Every region grants it, no window does: a
 * window's key is no L_Key. */
#define RNIC_GRANT_LOCAL_READ (1u << 30)

struct rnic_grant {
    uint8_t *addr;
    uint64_t len;
    uint64_t iova;   /* what addr[0] is called; iova + len <= 2^64 - 1 */
    unsigned access; /* enum rnic_access and RNIC_GRANT_LOCAL_READ; 0: the key opens nothing */
    const struct rnic_pd *pd; /* of the QP; NULL: not looked at, a bound 2A window (R210) */
    const struct rnic_qp *qp; /* the only one it is for, or NULL: all of the PD (R210) */
};

/* What rnic_transport_ops.translate says, for `qp` of `pd`. */
enum rnic_mem rnic_key_translate(const struct rnic_pd *pd, const struct rnic_qp *qp, uint32_t key,
                                 uint64_t va, uint64_t len, unsigned access, uint8_t **out);

/* What rnic_transport_ops.check_whole_mr says: a FLUSH of all that a key opens. */
enum rnic_mem rnic_key_check(const struct rnic_pd *pd, const struct rnic_qp *qp, uint32_t key,
                             unsigned access);

/* What rnic_transport_ops.invalidate says: of a region that may be, or a type 2 window of this QP,
 * or of this PD while it is free (R203, R204, R213). */
bool rnic_key_invalidate(const struct rnic_pd *pd, const struct rnic_qp *qp, uint32_t key);

/* An unpredictable key that no region has and no window owns. */
uint32_t rnic_key_choose(struct rnic *rnic);

/* An unpredictable prefix, low 8 bits 0, of which no key is taken. */
uint32_t rnic_key_choose_prefix(struct rnic *rnic);

/* Whether a region has the key or a window owns it. */
bool rnic_key_taken(const struct rnic *rnic, uint32_t key);

#endif
