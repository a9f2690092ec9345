/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * SRQ: a receive queue that QPs share: a basic one, of the QPs created with it, or an XRC one, of
 * whatever target QP of its domain a request comes to. Its WQEs lie in its own protection domain.
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
    struct rnic_list link;  /* rnic.srqs */
    uint32_t srqn;          /* 1..0xFFFFFF */
    uint32_t users;         /* QPs created with it */
    uint32_t events;        /* types pending, see event.h */
    struct rnic_xrcd *xrcd; /* XRC, else NULL */
    struct rnic_cq *cq;     /* XRC, else NULL */
    struct rnic_rq rq;
};

/* The SRQ of this number in a domain, or NULL (R180). */
struct rnic_srq *rnic_srq_find(const struct rnic_xrcd *xrcd, uint32_t srqn);

/* The SRQ that this receive queue is of. */
static inline struct rnic_srq *rnic_srq_of(struct rnic_rq *rq)
{
    return RNIC_LIST_OF(rq, struct rnic_srq, rq);
}

/* After WQEs were taken: whether the limit was passed (R196). */
void rnic_srq_settle(struct rnic_srq *srq);

/* A completion of an XRC SRQ was lost: it is in the error state from now on. */
void rnic_srq_break(struct rnic_srq *srq);

/* Takes it apart whoever uses it: for rnic_del(). */
void rnic_srq_free(struct rnic_srq *srq);

#endif
