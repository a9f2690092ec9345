/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/delayed_ack.h"

#include "device/qp.h"

void rnic_delayed_ack_init(struct rnic_delayed_ack *delayed)
{
    rnic_list_init(&delayed->qps);
    delayed->until = 0;
}

/* Returns true if an ACK is the only packet that the QP has to send, and the delay is safe. A delay
 * longer than the peer's ACK timeout would cause a retransmission. The device does not know the
 * peer's timeout. It is probably equal to the timeout of this QP, which must be at least 16 times
 * the longest delay. */
static bool has_only_ack(struct rnic_qp *qp)
{
    return rnic_response_queue_is_ack(&qp->resp.responses) && !rnic_requester_ready(&qp->req) &&
           qp->req.retry.timeout_ns / 16 >= RNIC_ACK_HOLD_NS;
}

bool rnic_delayed_ack_take(struct rnic_delayed_ack *delayed, struct rnic_qp *qp)
{
    if (delayed->until == 0 || !qp->service->connected || !has_only_ack(qp))
        return false;
    rnic_list_add(&delayed->qps, &qp->ready);
    qp->ack_delayed = true;
    return true;
}

void rnic_delayed_ack_update(struct rnic_qp *qp)
{
    if (!qp->ack_delayed || has_only_ack(qp))
        return;
    qp->ack_delayed = false;
    rnic_list_del(&qp->ready);
}

void rnic_delayed_ack_release(struct rnic_delayed_ack *delayed, struct rnic_list *ready)
{
    while (!rnic_list_empty(&delayed->qps)) {
        struct rnic_qp *qp = RNIC_LIST_OF(delayed->qps.next, struct rnic_qp, ready);

        qp->ack_delayed = false;
        rnic_list_del(&qp->ready);
        rnic_list_add(ready, &qp->ready);
    }
    delayed->until = 0;
}

uint64_t rnic_delayed_ack_deadline(const struct rnic_delayed_ack *delayed)
{
    return rnic_list_empty(&delayed->qps) ? UINT64_MAX : delayed->until;
}
