/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Delayed ACK: the QPs with an ACK that is due but delayed, so that one later ACK covers several
 * requests (for TCP: RFC 1122). The caller decides with rnic_ack_hold() when ACKs are delayed.
 *
 * 1. rnic_output() offers each ready QP to rnic_delayed_ack_take(). While ACKs are delayed, a QP
 *    that has only an ACK to send waits in the list `qps`.
 * 2. The peer's next request replaces the waiting ACK by a later one (transport/response_queue.h).
 *    If the QP has to send a NAK, a READ response or a request, its wait ends at once.
 * 3. The delay ends at the time `until`, or when the caller ends it. rnic_delayed_ack_release()
 *    then makes all these QPs ready.
 */
#ifndef RNIC_DELAYED_ACK_H
#define RNIC_DELAYED_ACK_H

#include <stdbool.h>
#include <stdint.h>
#include "device/list.h"

struct rnic_qp;

struct rnic_delayed_ack {
    struct rnic_list qps; /* QPs with a delayed ACK, linked by rnic_qp.ready */
    uint64_t until;       /* time at which the delay of ACKs ends, ns; 0: ACKs are not delayed */
};

void rnic_delayed_ack_init(struct rnic_delayed_ack *delayed);

/* Delays the ACK of a QP if the QP has only an ACK to send and its ACK timeout is long enough
 * (RNIC_ACK_HOLD_NS). The QP must be in no list of ready or delayed QPs. Returns true if the ACK is
 * now delayed, false if the QP must send now. */
bool rnic_delayed_ack_take(struct rnic_delayed_ack *delayed, struct rnic_qp *qp);

/* Ends the delay of the QP's ACK if the QP now has more than an ACK to send. */
void rnic_delayed_ack_update(struct rnic_qp *qp);

/* Ends the delay of ACKs: moves all QPs with a delayed ACK to the end of the list `ready`. */
void rnic_delayed_ack_release(struct rnic_delayed_ack *delayed, struct rnic_list *ready);

/* Returns the time at which the delay of ACKs ends; UINT64_MAX if no ACK is delayed. */
uint64_t rnic_delayed_ack_deadline(const struct rnic_delayed_ack *delayed);

#endif
