/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Completion queue: a ring of completions. Only a resize by the user changes its depth. */
#ifndef RNIC_CQ_H
#define RNIC_CQ_H

#include "base/heap.h"
#include "device/list.h"
#include "device/rnic.h"

/* Notification that the user has requested and that was not raised yet: none, one for the next
 * solicited completion, or one for the next completion. */
enum rnic_cq_armed { RNIC_CQ_IDLE, RNIC_CQ_SOLICITED, RNIC_CQ_NEXT };

struct rnic_cq {
    struct rnic *rnic;
    struct rnic_list link;     /* link in rnic.cqs */
    struct rnic_list notified; /* link in rnic.notified while notifications > 0 */
    uint32_t notifications;    /* number of notifications that were raised and that the user has not
                                * fetched yet; each request of the user raises at most one */
    enum rnic_cq_armed armed;
    uint32_t event_cnt;     /* moderation: a delayed notification is raised at this number of
                             * completions */
    rnic_time event_period; /* moderation: maximum delay of a notification, ns; 0: no delay */
    uint32_t held;          /* number of completions that match the delayed request;
                             * 0: no notification is delayed */
    struct rnic_heap_node moderated; /* node in rnic.moderated while held > 0; the heap sorts by the
                                      * time when the delay ends, ns */
    struct rnic_wc *wc;
    uint32_t depth;
    uint32_t head;
    uint32_t cnt;
    uint32_t users;  /* number of QPs and XRC SRQs that use the CQ */
    uint32_t events; /* bit set of pending event types, see event.h */
    bool overrun;    /* a completion was lost: the CQ accepts no more (R200) */
};

/* Adds a completion of QP `qpn`. Returns false if the CQ is full or has overflowed (R200; C9-218).
 * The first lost completion raises the error event. */
bool rnic_cq_put(struct rnic_cq *cq, const struct rnic_wc *wc, uint32_t qpn);

/* Raises each notification that moderation has delayed until `now` or earlier. */
void rnic_cq_expire(struct rnic *rnic, rnic_time now);

/* Removes the completions of a QP that is reset (R190). The specification does not require this,
 * but the mlx4 and mlx5 drivers of rdma-core remove them, and rdma-core's tests rely on it
 * (test_mr.py, restate_qps). The completions of a destroyed QP remain, as with Linux rxe: libfabric
 * 1.17 polls them after rdma_destroy_ep() and would treat missing ones as flushed. */
void rnic_cq_clean(struct rnic_cq *cq, uint32_t qpn);

/* Frees the queue even if it is in use; for rnic_del(). */
void rnic_cq_free(struct rnic_cq *cq);

#endif
