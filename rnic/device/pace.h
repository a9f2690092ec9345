/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pacing: QPs that must wait because of CNPs, in a heap ordered by the time when each may send
 * again. The first one gives the device its deadline. Acknowledgements and CNPs never wait.
 */
#ifndef RNIC_PACE_H
#define RNIC_PACE_H

#include "device/cnp.h"

struct rnic_pacer {
    struct rnic_heap heap;
    uint32_t
        users; /* number of QPs with congestion control, and so the maximum that wait at once */
};

/* Reserves memory for one more QP, so that waiting never allocates. Returns false if out of memory.
 */
bool rnic_pacer_grow(struct rnic_pacer *pacer);
void rnic_pacer_shrink(struct rnic_pacer *pacer);
void rnic_pacer_free(struct rnic_pacer *pacer);

/* Lets a QP wait until `at`. No effect if it already waits. */
void rnic_pacer_add(struct rnic_pacer *pacer, struct rnic_cc *cc, rnic_time at);

/* Removes a QP. No effect if it does not wait. */
void rnic_pacer_del(struct rnic_pacer *pacer, struct rnic_cc *cc);

/* Removes and returns the first QP whose time has come at `now`, or NULL. */
struct rnic_cc *rnic_pacer_due(struct rnic_pacer *pacer, rnic_time now);

/* Returns when the first QP may send again. */
static inline rnic_time rnic_pacer_next(const struct rnic_pacer *pacer)
{
    const struct rnic_heap_node *first = rnic_heap_first(&pacer->heap);

    return first ? first->at : RNIC_NEVER;
}

/* Returns true if the QP's next packet is an acknowledgement, which never waits. */
bool rnic_pace_urgent(struct rnic_qp *qp);

/* Returns true if the QP's next data packet must wait at `now`, and sets *at to the end of the
 * wait. */
bool rnic_pace_held(struct rnic_qp *qp, rnic_time now, rnic_time *at);

/* Accounts for a sent packet of the QP with `len` bytes of frame. */
void rnic_pace_sent(struct rnic_qp *qp, const struct roce_pkt *pkt, size_t len, rnic_time now);

#endif
