/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Held: requests for a service that nobody has yet, while a program may still begin to listen. */
#include <string.h>
#include "cm/engine.h"

static uint64_t service_of(const struct roce_cm_msg *msg)
{
    return msg->kind == ROCE_CM_REQ ? msg->req.service_id : msg->sidr_req.service_id;
}

/* Whether one is the other's repetition. */
static bool same(const struct cm_held *held, const struct roce_cm_msg *msg,
                 const struct rnic_cm_addr *addr)
{
    return held->msg.kind == msg->kind && held->msg.mad.tid == msg->mad.tid &&
           memcmp(&held->addr, addr, sizeof(*addr)) == 0 &&
           (msg->kind == ROCE_CM_REQ ? held->msg.req.local_comm_id == msg->req.local_comm_id &&
                                           held->msg.req.local_ca_guid == msg->req.local_ca_guid
                                     : held->msg.sidr_req.request_id == msg->sidr_req.request_id);
}

/* The asker's patience is what a REQ says it is (12.7.1.2, Remote CM Response Timeout). */
static uint64_t patience(const struct rnic_cm *cm, const struct roce_cm_msg *msg)
{
    uint64_t half = cm_code_ns(msg->req.remote_cm_timeout) / 2;

    return msg->kind == ROCE_CM_REQ && half < cm->attr.patience ? half : cm->attr.patience;
}

bool cm_hold(struct rnic_cm *cm, const struct roce_cm_msg *msg, const struct rnic_cm_addr *addr,
             rnic_time now)
{
    for (unsigned i = 0; i < cm->held_cnt; i++)
        if (same(&cm->held[i], msg, addr))
            return true;
    if (cm->attr.patience == 0 || cm->held_cnt == CM_HELD_MAX ||
        (cm->attr.elsewhere && cm->attr.elsewhere(cm->attr.user, service_of(msg))))
        return false;
    cm->held[cm->held_cnt++] =
        (struct cm_held){.msg = *msg, .addr = *addr, .until = now + patience(cm, msg)};
    return true;
}

rnic_time cm_held_deadline(const struct rnic_cm *cm)
{
    rnic_time first = RNIC_NEVER;

    for (unsigned i = 0; i < cm->held_cnt; i++)
        if (cm->held[i].until < first)
            first = cm->held[i].until;
    return first;
}

void cm_held_expire(struct rnic_cm *cm, rnic_time now)
{
    for (unsigned i = 0; i < cm->held_cnt;) {
        const struct cm_held due = cm->held[i];

        if (due.until > now) {
            i++;
            continue;
        }
        memmove(&cm->held[i], &cm->held[i + 1], (--cm->held_cnt - i) * sizeof(due));
        cm_ask(cm, &due.msg, &due.addr, now, true);
    }
}

void cm_held_listen(struct rnic_cm *cm, uint64_t service_id)
{
    for (unsigned i = 0; i < cm->held_cnt; i++)
        if (service_of(&cm->held[i].msg) == service_id &&
            cm_find_listener(cm, service_id, cm->held[i].addr.local))
            cm->held[i].until = 0;
}
