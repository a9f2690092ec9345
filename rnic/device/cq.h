/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* CQ: a completion queue: a ring of completions, of a depth that never grows. */
#ifndef RNIC_CQ_H
#define RNIC_CQ_H

#include "device/list.h"
#include "device/rnic.h"

#define RNIC_CQ_MAX (UINT32_C(1) << 22) /* completions of one CQ, as verbs devices report */

struct rnic_cq {
    struct rnic *rnic;
    struct rnic_list link; /* rnic.cqs */
    struct rnic_wc *wc;
    uint32_t depth;
    uint32_t head;
    uint32_t cnt;
    uint32_t users;  /* QPs */
    uint32_t events; /* types pending, see event.h */
    bool overrun;    /* a completion found no room: takes no more (R200) */
};

/* Adds a completion. False if it was lost: the CQ is or was full (R200; C9-218); its error event
 * was raised when that happened first. */
bool rnic_cq_put(struct rnic_cq *cq, const struct rnic_wc *wc);

/* Takes the queue apart whoever uses it: for rnic_del(). */
void rnic_cq_free(struct rnic_cq *cq);

#endif
