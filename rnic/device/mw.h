/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * MW: a memory window: a part of a region, opened and closed by work requests. Rules R210-R213;
 * C10-n and o10-n are compliance statements of IBTA vol. 1 ch. 10 as Linux rxe quotes them.
 */
#ifndef RNIC_MW_H
#define RNIC_MW_H

#include "device/key.h"
#include "device/list.h"

struct rnic_mw {
    struct rnic_grant grant; /* access 0 while it is not bound */
    struct rnic_pd *pd;
    struct rnic_list link;  /* rnic.mws */
    struct rnic_list bound; /* rnic_qp.windows, of type 2 while bound */
    struct rnic_mr *mr;     /* that it is bound to, or NULL */
    enum rnic_mw_type type;
    uint32_t key;  /* the one that is good while it is bound */
    uint32_t rkey; /* type 1: as of the last bind posted */
};

/* Fills in what the transport is to know of a bind: *bind with both keys; and gives a type 1 window
 * its new R_Key, once rnic_mw_posted() says that the request was taken. False for a bind that makes
 * no sense whenever it happens. */
bool rnic_mw_prepare(const struct rnic_mw_bind *wr, struct rnic_mw_bind *bind);
void rnic_mw_posted(const struct rnic_mw_bind *bind);

/* What rnic_transport_ops.bind says, for this QP. The window and region are found by their keys,
 * because they may have gone since the post. */
bool rnic_mw_do_bind(struct rnic_qp *qp, const struct rnic_mw_bind *bind);

/* Takes a type 2 window back, if it is bound: it is free to be bound again. False for one of type 1
 * (o10-37.2.26). */
bool rnic_mw_invalidate(struct rnic_mw *mw);

/* Whether windows keep the QP from going: bound ones of type 2A (R213). */
bool rnic_mw_hold(const struct rnic_qp *qp);

/* The QP is about to go: type 2 windows bound through it are free. */
void rnic_mw_unbind_all(struct rnic_qp *qp);

#endif
