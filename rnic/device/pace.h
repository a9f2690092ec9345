/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pace: the QPs that have something to send and must wait because of CNPs, by the time when each
 * may go on: a heap, whose first gives the device its deadline. Acknowledgements and CNPs never
 * wait here.
 */
#ifndef RNIC_PACE_H
#define RNIC_PACE_H

#include "device/cnp.h"

struct rnic_pacer {
    struct rnic_heap heap;
    uint32_t users; /* QPs with congestion control: the most that can wait at once */
};

/* Makes room for one QP more; false without memory. So that waiting allocates nothing. */
bool rnic_pacer_grow(struct rnic_pacer *pacer);
void rnic_pacer_shrink(struct rnic_pacer *pacer);
void rnic_pacer_free(struct rnic_pacer *pacer);

/* Waits until `at`; one that waits already is left alone. */
void rnic_pacer_add(struct rnic_pacer *pacer, struct rnic_cc *cc, rnic_time at);

/* Waits no more; one that does not wait is fine. */
void rnic_pacer_del(struct rnic_pacer *pacer, struct rnic_cc *cc);

/* The first whose time has come at `now`, which waits no more, or NULL. */
struct rnic_cc *rnic_pacer_due(struct rnic_pacer *pacer, rnic_time now);

/* When the first may go on. */
static inline rnic_time rnic_pacer_next(const struct rnic_pacer *pacer)
{
    const struct rnic_heap_node *first = rnic_heap_first(&pacer->heap);

    return first ? first->at : RNIC_NEVER;
}

/* Whether the QP's next response is one that never waits: an acknowledgement. */
bool rnic_pace_urgent(struct rnic_qp *qp);

/* Whether the QP's next data must wait at `now`. If so, *at is until when. */
bool rnic_pace_held(struct rnic_qp *qp, rnic_time now, rnic_time *at);

/* A packet of the QP went out, `len` bytes of frame. */
void rnic_pace_sent(struct rnic_qp *qp, const struct roce_pkt *pkt, size_t len, rnic_time now);

#endif
