/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pacing: a heap of the QPs that congestion control delays, sorted by the time when each QP may
 * send again. The earliest time limits rnic_deadline(). Acknowledgements and CNPs are never
 * delayed.
 */
#ifndef RNIC_PACE_H
#define RNIC_PACE_H

#include "device/cnp.h"

struct rnic_pacer {
    struct rnic_heap heap;
    uint32_t users; /* number of QPs with congestion control, which is the maximum number of QPs in
                     * the heap */
};

/* Reserves memory for one more QP, so that rnic_pacer_add() never allocates. Returns false if out
 * of memory. */
bool rnic_pacer_grow(struct rnic_pacer *pacer);
void rnic_pacer_shrink(struct rnic_pacer *pacer);
void rnic_pacer_free(struct rnic_pacer *pacer);

/* Delays a QP until `at`. No effect if the QP is already delayed. */
void rnic_pacer_add(struct rnic_pacer *pacer, struct rnic_cc *cc, rnic_time at);

/* Removes a QP from the heap. No effect if the QP is not delayed. */
void rnic_pacer_del(struct rnic_pacer *pacer, struct rnic_cc *cc);

/* If the delay of the first QP has ended at `now`, removes and returns this QP. Otherwise returns
 * NULL. */
struct rnic_cc *rnic_pacer_due(struct rnic_pacer *pacer, rnic_time now);

/* Returns the time at which the first QP may send again. */
static inline rnic_time rnic_pacer_next(const struct rnic_pacer *pacer)
{
    const struct rnic_heap_node *first = rnic_heap_first(&pacer->heap);

    return first ? first->at : RNIC_NEVER;
}

/* Returns true if the QP's next packet is an acknowledgement, which is never delayed. */
bool rnic_pace_urgent(struct rnic_qp *qp);

/* Returns true if congestion control forbids the QP to send its next data packet at `now`. If so,
 * sets *at to the time at which the QP may send the packet. */
bool rnic_pace_held(struct rnic_qp *qp, rnic_time now, rnic_time *at);

/* Accounts for a packet that the QP sent; `len` is the length of its frame, bytes. */
void rnic_pace_sent(struct rnic_qp *qp, const struct roce_pkt *pkt, size_t len, rnic_time now);

#endif
