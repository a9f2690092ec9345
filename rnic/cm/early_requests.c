/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Early requests: REQs and SIDR_REQs for a service for which no program listens. The engine delays
 * the answer, because a program may be about to listen. */
#include <string.h>
#include "cm/engine.h"

static uint64_t service_of(const struct roce_cm_msg *msg)
{
    return msg->kind == ROCE_CM_REQ ? msg->req.service_id : msg->sidr_req.service_id;
}

/* Returns whether `msg` is a retransmission of the stored request `early`. */
static bool is_repetition(const struct cm_early_request *early, const struct roce_cm_msg *msg,
                          const struct rnic_cm_addr *addr)
{
    return early->msg.kind == msg->kind && early->msg.mad.tid == msg->mad.tid &&
           memcmp(&early->addr, addr, sizeof(*addr)) == 0 &&
           (msg->kind == ROCE_CM_REQ ? early->msg.req.local_comm_id == msg->req.local_comm_id &&
                                           early->msg.req.local_ca_guid == msg->req.local_ca_guid
                                     : early->msg.sidr_req.request_id == msg->sidr_req.request_id);
}

/* Returns how long a request waits for a listener, ns. A REQ waits for at most half of its Remote
 * CM Response Timeout (12.7.1.2). */
static uint64_t wait_for_listener_ns(const struct rnic_cm *cm, const struct roce_cm_msg *msg)
{
    uint64_t half = cm_code_ns(msg->req.remote_cm_timeout) / 2;

    return msg->kind == ROCE_CM_REQ && half < cm->attr.listen_wait ? half : cm->attr.listen_wait;
}

bool cm_keep_early_request(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                           const struct rnic_cm_addr *addr, rnic_time now)
{
    for (unsigned i = 0; i < cm->early_cnt; i++)
        if (is_repetition(&cm->early[i], msg, addr))
            return true;
    if (cm->attr.listen_wait == 0 || cm->early_cnt == CM_EARLY_MAX ||
        (cm->attr.served_elsewhere &&
         cm->attr.served_elsewhere(cm->attr.user, service_of(msg), addr->local)))
        return false;
    cm->early[cm->early_cnt++] = (struct cm_early_request){
        .msg = *msg, .addr = *addr, .until = now + wait_for_listener_ns(cm, msg)};
    return true;
}

rnic_time cm_early_deadline(const struct rnic_cm *cm)
{
    rnic_time first = RNIC_NEVER;

    for (unsigned i = 0; i < cm->early_cnt; i++)
        if (cm->early[i].until < first)
            first = cm->early[i].until;
    return first;
}

bool cm_early_take_due(struct rnic_cm *cm, rnic_time now, struct cm_early_request *out)
{
    for (unsigned i = 0; i < cm->early_cnt; i++)
        if (cm->early[i].until <= now) {
            *out = cm->early[i];
            memmove(&cm->early[i], &cm->early[i + 1], (--cm->early_cnt - i) * sizeof(*out));
            return true;
        }
    return false;
}

void cm_early_listen(struct rnic_cm *cm, uint64_t service_id)
{
    for (unsigned i = 0; i < cm->early_cnt; i++)
        if (service_of(&cm->early[i].msg) == service_id &&
            cm_find_listener(cm, service_id, cm->early[i].addr.local))
            cm->early[i].until = 0;
}
