/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory window: a part of a region, bound and unbound by work requests (R210-R213). C10-n and
 * o10-n are compliance statements of IBTA vol. 1 ch. 10 as quoted by Linux rxe.
 */
#ifndef RNIC_MW_H
#define RNIC_MW_H

#include "device/key.h"
#include "device/list.h"

struct rnic_mw {
    struct rnic_grant grant; /* memory and rights of the window; grant.access is 0 while the window
                              * is not bound */
    struct rnic_pd *pd;
    struct rnic_list link;  /* link in rnic.mws */
    struct rnic_list bound; /* link in rnic_qp.windows while a type 2 window is bound */
    struct rnic_mr *mr;     /* region that the window is bound to, or NULL */
    enum rnic_mw_type type;
    uint32_t key;  /* valid key of the window while bound */
    uint32_t rkey; /* type 1: key of the last posted bind */
};

/* Prepares a bind for the transport: copies the request to *bind, and adds the new key of the
 * window and the key of the region. A type 1 window gets its new R_Key only when rnic_mw_posted()
 * confirms that the request was posted. Returns false for a bind that can never succeed. */
bool rnic_mw_prepare(const struct rnic_mw_bind *wr, struct rnic_mw_bind *bind);
void rnic_mw_posted(const struct rnic_mw_bind *bind);

/* Implements rnic_transport_ops.bind for this QP. Looks up window and region by their keys, because
 * both may have been freed since the post. */
bool rnic_mw_do_bind(struct rnic_qp *qp, const struct rnic_mw_bind *bind);

/* Unbinds a type 2 window and returns true, also if the window was not bound. Returns false for a
 * type 1 window (o10-37.2.26). */
bool rnic_mw_invalidate(struct rnic_mw *mw);

/* Returns true if bound 2A windows prevent the destruction of the QP (R213). */
bool rnic_mw_hold(const struct rnic_qp *qp);

/* Unbinds the type 2 windows of a QP that is about to be destroyed. */
void rnic_mw_unbind_all(struct rnic_qp *qp);

#endif
