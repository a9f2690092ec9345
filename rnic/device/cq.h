/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* CQ: a completion queue: a ring of completions, whose depth only its user changes. */
#ifndef RNIC_CQ_H
#define RNIC_CQ_H

#include "device/list.h"
#include "device/rnic.h"

/* What a notification was asked for, and did not come yet. */
enum rnic_cq_armed { RNIC_CQ_IDLE, RNIC_CQ_SOLICITED, RNIC_CQ_NEXT };

struct rnic_cq {
    struct rnic *rnic;
    struct rnic_list link;     /* rnic.cqs */
    struct rnic_list notified; /* rnic.notified, while notifications > 0 */
    uint32_t notifications;    /* raised and not taken; each was asked for, so it stays small */
    enum rnic_cq_armed armed;
    struct rnic_wc *wc;
    uint32_t depth;
    uint32_t head;
    uint32_t cnt;
    uint32_t users;  /* QPs */
    uint32_t events; /* types pending, see event.h */
    bool overrun;    /* a completion found no room: takes no more (R200) */
};

/* Adds a completion of the QP with this number. False if it was lost: the CQ is or was full (R200;
 * C9-218); its error event was raised when that happened first. */
bool rnic_cq_put(struct rnic_cq *cq, const struct rnic_wc *wc, uint32_t qpn);

/* Takes out what a QP completed and nobody polled: it is being reset, and what it did is forgotten
 * (R190). The specification leaves it open; rdma-core's mlx4 and mlx5 do so, and its tests rely on
 * it (test_mr.py, restate_qps). A QP that is destroyed leaves its completions, as Linux rxe does:
 * libfabric 1.17 polls them after rdma_destroy_ep() and takes what it misses for flushed, sends and
 * receives that were done. */
void rnic_cq_clean(struct rnic_cq *cq, uint32_t qpn);

/* Takes the queue apart whoever uses it: for rnic_del(). */
void rnic_cq_free(struct rnic_cq *cq);

#endif
