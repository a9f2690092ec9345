/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Timers: retransmission of CM messages, the end of TIMEWAIT, and the end of a request's wait for a
 * listener. */
#include "cm/engine.h"
#include "transport/fault.h"

rnic_time rnic_cm_deadline(const struct rnic_cm *cm)
{
    const struct rnic_heap_node *first = rnic_heap_first(&cm->timers);
    rnic_time early = cm_early_deadline(cm);

    return first && first->at < early ? first->at : early;
}

/* Ends an exchange: the peer did not answer, and no retransmission is left. */
static void give_up_exchange(struct rnic_cm_id *id, rnic_time now)
{
    switch (id->state) {
    case RNIC_CM_REQ_SENT:
    case RNIC_CM_MRA_REQ_RCVD:
    case RNIC_CM_REP_SENT:
    case RNIC_CM_MRA_REP_RCVD:
        cm_send_rej(id, ROCE_CM_REJ_TIMEOUT, NULL, 0);
        cm_enter(id, RNIC_CM_IDLE);
        cm_post_event(id, RNIC_CM_UNREACHABLE, NULL, NULL);
        break;
    case RNIC_CM_SIDR_SENT:
        cm_enter(id, RNIC_CM_IDLE);
        cm_post_event(id, RNIC_CM_UNREACHABLE, NULL, NULL);
        break;
    case RNIC_CM_DREQ_SENT:
        cm_enter_timewait(id, now);
        cm_post_event(id, RNIC_CM_DISCONNECTED, NULL, NULL);
        break;
    default: break;
    }
}

static void expire_id_timer(struct rnic_cm_id *id, rnic_time now)
{
    if (id->state == RNIC_CM_TIMEWAIT) {
        cm_enter(id, RNIC_CM_IDLE);
        /* After a REJ, the end of TIMEWAIT causes no event: the program had no connection. */
        if (id->sent_kind != ROCE_CM_REJ)
            cm_post_event(id, RNIC_CM_TIMEWAIT_EXIT, NULL, NULL);
    } else if (id->retries_left > 0 && !RNIC_FAULT(CM_NO_RETRY)) {
        id->retries_left--;
        cm_send_again(id);
        cm_timer(id, now + id->timeout);
    } else {
        give_up_exchange(id, now);
    }
    if (id->deleted && id->state == RNIC_CM_IDLE)
        cm_free_id(id);
}

void rnic_cm_expire(struct rnic_cm *cm, rnic_time now)
{
    struct cm_early_request due;
    struct rnic_heap_node *first;

    while (cm_early_take_due(cm, now, &due))
        cm_handle_request(cm, &due.msg, &due.addr, now, true);
    while ((first = rnic_heap_first(&cm->timers)) != NULL && first->at <= now) {
        rnic_heap_set(&cm->timers, first, RNIC_NEVER);
        expire_id_timer(RNIC_LIST_OF(first, struct rnic_cm_id, timer), now);
    }
}
