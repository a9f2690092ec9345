/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory of the software RNIC: protection domains, memory regions and memory windows. Callers
 * include rnic.h, which includes this header and declares the types that it uses.
 *
 *   1. rnic_pd_new() creates a protection domain.
 *   2. rnic_mr_reg() registers memory of the caller, which must exist until rnic_mr_dereg().
 *   3. rnic_mw_new() creates a window, which a work request binds.
 *
 * Errors are negative values of enum rnic_error.
 */
#ifndef RNIC_PUBLIC_MR_H
#define RNIC_PUBLIC_MR_H

/* ---- protection domains and memory ----------------------------------------------------------- */

int rnic_pd_new(struct rnic *rnic, struct rnic_pd **out);
/* Destroys a PD. Returns RNIC_ERR_BUSY while the PD contains an MR, a window, a QP, an SRQ or an
 * address handle. Accepts NULL. */
int rnic_pd_del(struct rnic_pd *pd);

struct rnic_mr_attr {
    void *addr;   /* first byte of the memory, which must exist until rnic_mr_dereg() */
    uint64_t len; /* length, bytes; a region of length 0 is allowed and grants no access */
    /* address that peers and SGEs use for addr[0]; iova + len <= 2^64 - 1. With
     * RNIC_ACCESS_ZERO_BASED, iova is ignored and the address of addr[0] is 0 (R209) */
    uint64_t iova;
    unsigned
        access;   /* enum rnic_access; remote write and remote atomic require local write (R207) */
    uint32_t key; /* L_Key and R_Key; 0 lets the device choose an unpredictable key */
    bool invalidate; /* true: a SEND with Invalidate to a QP of this PD is allowed to invalidate the
                      * region (R204) */
};

/*
 * Registers memory. With RNIC_ACCESS_ON_DEMAND, address NULL, length UINT64_MAX and iova 0, the
 * region is the whole address space of the process. Returns RNIC_ERR_EXISTS if the key is in use.
 * Returns RNIC_ERR_INVALID for contradicting flags, more bytes than max_mr_size, an end beyond 2^64
 * - 1, or, for any other region, address NULL with a length that is not 0.
 */
int rnic_mr_reg(struct rnic_pd *pd, const struct rnic_mr_attr *attr, struct rnic_mr **out);

/* Deregisters a region. Its keys become invalid immediately, also for packets in flight (R208).
 * Returns RNIC_ERR_BUSY while a window is bound to the region (R213). Accepts NULL. */
int rnic_mr_dereg(struct rnic_mr *mr);
uint32_t rnic_mr_key(const struct rnic_mr *mr);

/* Flags of rnic_mr_rereg(), with the numbers of enum ibv_rereg_mr_flags. */
enum rnic_mr_rereg {
    RNIC_MR_REREG_TRANSLATION = 1u << 0, /* changes addr, len and iova */
    RNIC_MR_REREG_PD = 1u << 1,          /* changes the protection domain */
    RNIC_MR_REREG_ACCESS = 1u << 2,      /* changes the access rights */
};

/*
 * Changes the attributes in `flags` for all future packets and keeps the key. A region that a peer
 * invalidated becomes valid again. Ignores `pd` and the members of `attr` that are not in `flags`.
 * After an error the region is unchanged (ibv_rereg_mr(3)). Returns RNIC_ERR_INVALID for invalid
 * flags, access or addresses, or a change of ZERO_BASED without TRANSLATION. Returns RNIC_ERR_BUSY
 * while a window is bound to the region.
 */
int rnic_mr_rereg(struct rnic_mr *mr, unsigned flags, struct rnic_pd *pd,
                  const struct rnic_mr_attr *attr);

/* ---- memory windows -------------------------------------------------------------------------- */

/* Type of a memory window, with the numbers of enum ibv_mw_type. */
enum rnic_mw_type {
    RNIC_MW_TYPE_1 = 1, /* type 1: usable by every QP of the PD (R210) */
    RNIC_MW_TYPE_2 = 2, /* type 2: usable by the QP through which it was bound. 2A checks the QPN,
                         * 2B the QPN and PD; rnic_attr.mw_2a selects (R210) */
};

/* Returns true if type 2 windows of this device are 2A (IBV_DEVICE_MEM_WINDOW_TYPE_2A), false if
 * 2B. */
bool rnic_mw_2a(const struct rnic *rnic);

/*
 * Creates a memory window. It grants nothing until rnic_post_send() with RNIC_WR_BIND_MW binds it.
 * The bind is executed in the order of posting. The region must have RNIC_ACCESS_MW_BIND, the
 * window's PD and, for remote write or atomic, LOCAL_WRITE. The range must be inside the region. A
 * type 2 window must be unbound and its length not 0. A bind that fails completes with
 * RNIC_WC_MW_BIND_ERR, and the QP goes to ERR (R211; C10-72 to C10-75, o10-37.2.30, o10-37.2.40).
 *
 * Each bind of type 1 creates a new key, which rnic_mw_rkey() returns immediately after the post.
 * The old key stays valid until the bind is executed (ibv_bind_mw(3)). A bind with len 0 unbinds.
 * LOCAL_INV or a SEND with Invalidate unbinds a type 2 window; for an unbound one in the QP's PD
 * this has no effect. LOCAL_INV of another key completes with RNIC_WC_MW_BIND_ERR, "memory
 * management operation error" (R204). Destroying the QP unbinds its 2B windows (o10-2.2.5). A QP
 * with bound 2A windows cannot be destroyed: RNIC_ERR_BUSY (R213).
 */
int rnic_mw_new(struct rnic_pd *pd, enum rnic_mw_type type, struct rnic_mw **out);
int rnic_mw_del(struct rnic_mw *mw); /* Destroys a window, bound or not. Accepts NULL. */

/* Returns the key of the last posted bind (type 1) or of the last executed bind (type 2). */
uint32_t rnic_mw_rkey(const struct rnic_mw *mw);
enum rnic_mw_type rnic_mw_type(const struct rnic_mw *mw);

#endif
