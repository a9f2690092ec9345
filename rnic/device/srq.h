/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Shared receive queue. A basic SRQ serves the QPs created with it. An XRC SRQ serves every target
 * QP of its domain. The WQEs use the SRQ's own protection domain.
 */
#ifndef RNIC_SRQ_H
#define RNIC_SRQ_H

#include "device/cq.h"
#include "device/list.h"
#include "device/pd.h"
#include "device/xrcd.h"
#include "transport/rq.h"

struct rnic_srq {
    struct rnic_pd *pd;
    struct rnic_list link;  /* link in rnic.srqs */
    uint32_t srqn;          /* SRQ number, 1..0xFFFFFF */
    uint32_t users;         /* number of QPs created with the SRQ */
    uint32_t events;        /* bit set of pending event types, see event.h */
    struct rnic_xrcd *xrcd; /* XRC domain; NULL for a basic SRQ */
    struct rnic_cq *cq;     /* CQ of an XRC SRQ; NULL for a basic SRQ */
    struct rnic_rq rq;
};

/* Returns the SRQ with number `srqn` in an XRC domain, or NULL (R180). */
struct rnic_srq *rnic_srq_find(const struct rnic_xrcd *xrcd, uint32_t srqn);

/* Returns the SRQ that contains this receive queue. */
static inline struct rnic_srq *rnic_srq_of(struct rnic_rq *rq)
{
    return RNIC_LIST_OF(rq, struct rnic_srq, rq);
}

/* Raises the SRQ limit event if fewer WQEs than the limit remain (R196). Called after WQEs were
 * used. */
void rnic_srq_settle(struct rnic_srq *srq);

/* Moves an XRC SRQ to the error state after the loss of a completion. */
void rnic_srq_break(struct rnic_srq *srq);

/* Frees the SRQ even if it is in use; for rnic_del(). */
void rnic_srq_free(struct rnic_srq *srq);

#endif
