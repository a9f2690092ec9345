/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Half-open exchanges: a peer sent a request, and the connection is neither established nor ended.
 * Peers may begin any number of exchanges, also with wrong source addresses. So the engine limits
 * the numbers of half-open and rejected exchanges. At a limit, it ends the oldest ones, before they
 * use up all ids or much CPU time. */
#include "cm/engine.h"

/* maximum number of half-open exchanges of one peer, and of all peers */
#define HALF_OPEN_SOURCE 2048u
#define HALF_OPEN_MAX    8192u

/* Maximum number of rejected exchanges that are stored with their REJ. If a peer repeats the REQ of
 * an exchange that is no longer stored, the REQ counts as new and is rejected again. */
#define REJECTED_MAX 1024u

/* Ends a half-open or rejected exchange before its timeout. The program gets the event that it
 * would get after the timeout. */
static void abandon_exchange(struct rnic_cm_id *id)
{
    bool rejected = id->state == RNIC_CM_TIMEWAIT;

    if (!rejected && id->state != RNIC_CM_SIDR_RCVD)
        cm_send_rej(id, ROCE_CM_REJ_TIMEOUT, NULL, 0);
    cm_timer(id, RNIC_NEVER);
    cm_enter(id, RNIC_CM_IDLE);
    if (id->deleted)
        cm_free_id(id);
    else if (!rejected)
        cm_post_event(id, RNIC_CM_UNREACHABLE, NULL, NULL);
}

void cm_half_open_limit(struct rnic_cm *cm, const struct rnic_cm_addr *addr)
{
    struct cm_source *source = cm_source_of(cm, addr);

    while (cm->rejected.cnt >= REJECTED_MAX)
        abandon_exchange(RNIC_LIST_OF(cm->rejected.ids.next, struct rnic_cm_id, half_open));
    while (source->cnt >= HALF_OPEN_SOURCE)
        abandon_exchange(RNIC_LIST_OF(source->ids.next, struct rnic_cm_id, by_source));
    while (cm->half_open.cnt >= HALF_OPEN_MAX)
        abandon_exchange(RNIC_LIST_OF(cm->half_open.ids.next, struct rnic_cm_id, half_open));
}
