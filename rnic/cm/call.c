/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Functions of cm.h that act on a struct rnic_cm_id. */
#include <string.h>
#include "cm/engine.h"
#include "transport/fault.h"
#include "wire/bytes.h"

static uint64_t new_tid(const struct rnic_cm_id *id)
{
    return (uint64_t)id->cm->attr.seed[1] << 32 | id->local;
}

static void copy_private(uint8_t *to, size_t room, const void *from, size_t len)
{
    if (from)
        memcpy(to, from, len < room ? len : room);
}

/* ---- listening for a service ----------------------------------------------------------------- */

/* Returns whether two listeners of one service conflict: both listen at the same single GID, or
 * both listen at all GIDs of one IP version. */
static bool overlap(const struct rnic_cm_id *a, const struct rnic_cm_id *b)
{
    if (a->at_gid || b->at_gid)
        return a->at_gid && b->at_gid && memcmp(a->addr.local, b->addr.local, 16) == 0;
    return (a->ip4 && b->ip4) || (a->ip6 && b->ip6);
}

/* Listens for `service_id` at the GIDs that id->at_gid, addr.local, ip4 and ip6 describe. */
static int listen_for(struct rnic_cm_id *id, uint64_t service_id)
{
    struct rnic_cm *cm = id->cm;

    for (struct rnic_list *at = cm->listeners.next; at != &cm->listeners; at = at->next) {
        const struct rnic_cm_id *other = RNIC_LIST_OF(at, struct rnic_cm_id, listener);

        if (other->service_id == service_id && overlap(id, other))
            return RNIC_ERR_EXISTS;
    }
    id->service_id = service_id;
    rnic_list_add(&cm->listeners, &id->listener);
    cm_enter(id, RNIC_CM_LISTEN);
    cm_early_listen(cm, service_id);
    return RNIC_OK;
}

int rnic_cm_listen(struct rnic_cm_id *id, uint64_t service_id, const uint8_t gid[16])
{
    if (id->state != RNIC_CM_IDLE)
        return RNIC_ERR_STATE;
    id->at_gid = gid != NULL;
    id->ip4 = id->ip6 = !gid;
    if (gid)
        memcpy(id->addr.local, gid, 16);
    return listen_for(id, service_id);
}

int rnic_cm_listen_family(struct rnic_cm_id *id, uint64_t service_id, bool ip4)
{
    if (id->state != RNIC_CM_IDLE)
        return RNIC_ERR_STATE;
    id->at_gid = false;
    id->ip4 = ip4;
    id->ip6 = !ip4;
    return listen_for(id, service_id);
}

/* ---- setting up a connection ----------------------------------------------------------------- */

int rnic_cm_connect(struct rnic_cm_id *id, const struct roce_cm_req *req,
                    const struct rnic_cm_addr *addr, rnic_time now)
{
    struct roce_cm_msg msg;
    uint64_t life = req->primary_ack_timeout ? cm_code_ns(req->primary_ack_timeout - 1u) : 0;

    if (id->state != RNIC_CM_IDLE)
        return RNIC_ERR_STATE;
    id->active = true;
    id->addr = *addr;
    id->req = *req;
    id->req.local_comm_id = id->local;
    id->local_qpn = req->local_qpn;
    id->tid = new_tid(id);
    roce_cm_msg_init(&msg, ROCE_CM_REQ, id->tid);
    msg.req = id->req;
    cm_enter(id, RNIC_CM_REQ_SENT);
    /* time between retransmissions: response timeout of the peer plus twice the packet lifetime
     * (12.9.8.2; R237) */
    cm_send(id, &msg, 2 * life + cm_code_ns(req->remote_cm_timeout), req->max_cm_retries, now);
    return RNIC_OK;
}

static uint8_t min_u8(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

int rnic_cm_accept(struct rnic_cm_id *id, const struct roce_cm_rep *rep, rnic_time now)
{
    struct roce_cm_msg msg;

    if (id->state != RNIC_CM_REQ_RCVD)
        return RNIC_ERR_STATE;
    id->rep = *rep;
    id->rep.local_comm_id = id->local;
    id->rep.remote_comm_id = id->remote;
    /* The responder resources of one side limit the initiator depth of the other side (R238). */
    id->rep.responder_resources = min_u8(rep->responder_resources, id->req.initiator_depth);
    if (!RNIC_FAULT(CM_RAISES))
        id->rep.initiator_depth = min_u8(rep->initiator_depth, id->req.responder_resources);
    id->local_qpn = roce_cm_rep_qpn(rep);
    roce_cm_msg_init(&msg, ROCE_CM_REP, id->tid);
    msg.rep = id->rep;
    cm_enter(id, RNIC_CM_REP_SENT);
    cm_send(id, &msg, cm_code_ns(id->req.local_cm_timeout), id->req.max_cm_retries, now);
    return RNIC_OK;
}

int rnic_cm_establish(struct rnic_cm_id *id, const void *private_data, size_t len, rnic_time now)
{
    struct roce_cm_msg msg;

    if (id->state != RNIC_CM_REP_RCVD)
        return RNIC_ERR_STATE;
    roce_cm_msg_init(&msg, ROCE_CM_RTU, id->tid);
    msg.rtu.local_comm_id = id->local;
    msg.rtu.remote_comm_id = id->remote;
    copy_private(msg.rtu.private_data, sizeof(msg.rtu.private_data), private_data, len);
    cm_enter(id, RNIC_CM_CONNECTED);
    cm_send(id, &msg, 0, 0, now);
    return RNIC_OK;
}

int rnic_cm_comm_est(struct rnic_cm_id *id, rnic_time now)
{
    (void)now;
    if (id->state == RNIC_CM_CONNECTED)
        return RNIC_ERR_EXISTS;
    if (id->state != RNIC_CM_REP_SENT && id->state != RNIC_CM_MRA_REP_RCVD)
        return RNIC_ERR_STATE;
    cm_enter(id, RNIC_CM_CONNECTED);
    cm_timer(id, RNIC_NEVER);
    cm_post_event(id, RNIC_CM_ESTABLISHED, NULL, NULL);
    return RNIC_OK;
}

/* ---- rejecting a connection ------------------------------------------------------------------ */

void cm_send_rej(struct rnic_cm_id *id, enum roce_cm_rej_reason reason, const void *data,
                 size_t len)
{
    enum { REJ_REQ = 0, REJ_REP = 1, REJ_OTHER = 2 }; /* values of REJ.message (R235) */
    struct roce_cm_msg msg;

    roce_cm_msg_init(&msg, ROCE_CM_REJ, id->tid);
    msg.rej.local_comm_id = id->local;
    msg.rej.remote_comm_id = id->remote;
    msg.rej.message = id->state == RNIC_CM_REQ_RCVD   ? REJ_REQ
                      : id->state == RNIC_CM_REP_RCVD ? REJ_REP
                                                      : REJ_OTHER;
    msg.rej.reason = (uint16_t)reason;
    if (reason == ROCE_CM_REJ_TIMEOUT) { /* A REJ with the reason "timeout" contains our CA GUID.
                                          * The peer finds the exchange by this GUID, because it may
                                          * not have received our communication id. */
        msg.rej.info_len = 8;
        roce_bits_put(msg.rej.info, 0, 0, 64, id->cm->attr.ca_guid);
    }
    copy_private(msg.rej.private_data, sizeof(msg.rej.private_data), data, len);
    cm_send(id, &msg, 0, 0, 0);
}

int rnic_cm_reject(struct rnic_cm_id *id, enum roce_cm_rej_reason reason, const void *private_data,
                   size_t len, rnic_time now)
{
    if (id->state != RNIC_CM_REQ_RCVD && id->state != RNIC_CM_REP_RCVD &&
        id->state != RNIC_CM_REP_SENT && id->state != RNIC_CM_MRA_REP_RCVD)
        return RNIC_ERR_STATE;
    if (len > sizeof((struct roce_cm_rej *)0)->private_data)
        return RNIC_ERR_INVALID;
    cm_send_rej(id, reason, private_data, len);
    cm_enter_timewait(id, now); /* the id stays in TIMEWAIT, where the engine answers a repeated REQ
                                 * or REP with the same REJ */
    return RNIC_OK;
}

/* ---- ending a connection --------------------------------------------------------------------- */

void cm_send_dreq(struct rnic_cm_id *id, const void *data, size_t len, rnic_time now)
{
    struct roce_cm_msg msg;
    unsigned code = id->active ? id->req.remote_cm_timeout : id->req.local_cm_timeout;

    roce_cm_msg_init(&msg, ROCE_CM_DREQ, new_tid(id));
    msg.dreq.local_comm_id = id->local;
    msg.dreq.remote_comm_id = id->remote;
    msg.dreq.remote_qpn = id->remote_qpn;
    copy_private(msg.dreq.private_data, sizeof(msg.dreq.private_data), data, len);
    cm_enter(id, RNIC_CM_DREQ_SENT);
    cm_send(id, &msg, cm_code_ns(code), id->req.max_cm_retries, now);
}

void cm_send_drep(struct rnic_cm_id *id, const void *data, size_t len, rnic_time now)
{
    struct roce_cm_msg msg;

    roce_cm_msg_init(&msg, ROCE_CM_DREP, id->tid);
    msg.drep.local_comm_id = id->local;
    msg.drep.remote_comm_id = id->remote;
    copy_private(msg.drep.private_data, sizeof(msg.drep.private_data), data, len);
    cm_send(id, &msg, 0, 0, now);
    cm_enter_timewait(id, now);
}

int rnic_cm_disconnect(struct rnic_cm_id *id, const void *private_data, size_t len, rnic_time now)
{
    switch (id->state) {
    case RNIC_CM_CONNECTED:
    case RNIC_CM_REP_SENT:
    case RNIC_CM_MRA_REP_RCVD: cm_send_dreq(id, private_data, len, now); return RNIC_OK;
    case RNIC_CM_DREQ_RCVD: cm_send_drep(id, private_data, len, now); return RNIC_OK;
    default: return RNIC_ERR_STATE;
    }
}

/* ---- UD services ----------------------------------------------------------------------------- */

int rnic_cm_sidr_request(struct rnic_cm_id *id, const struct roce_cm_sidr_req *req, uint8_t timeout,
                         uint8_t retries, const struct rnic_cm_addr *addr, rnic_time now)
{
    struct roce_cm_msg msg;

    if (id->state != RNIC_CM_IDLE)
        return RNIC_ERR_STATE;
    id->active = true;
    id->addr = *addr;
    id->request_id = id->local;
    id->tid = new_tid(id);
    roce_cm_msg_init(&msg, ROCE_CM_SIDR_REQ, id->tid);
    msg.sidr_req = *req;
    msg.sidr_req.request_id = id->request_id;
    cm_enter(id, RNIC_CM_SIDR_SENT);
    cm_send(id, &msg, cm_code_ns(timeout), retries, now);
    return RNIC_OK;
}

int rnic_cm_sidr_reply(struct rnic_cm_id *id, const struct roce_cm_sidr_rep *rep, rnic_time now)
{
    struct roce_cm_msg msg;

    if (id->state != RNIC_CM_SIDR_RCVD)
        return RNIC_ERR_STATE;
    roce_cm_msg_init(&msg, ROCE_CM_SIDR_REP, id->tid);
    msg.sidr_rep = *rep;
    msg.sidr_rep.request_id = id->request_id;
    cm_enter(id, RNIC_CM_SIDR_DONE);
    cm_send(id, &msg, 0, 0, now);
    return RNIC_OK;
}

/* ---- deleting an id -------------------------------------------------------------------------- */

/* Discards the events of `id`. If `id` is a listener, also discards one request that the program
 * has not fetched, and returns the id that was created for this request. The caller deletes that id
 * and calls again, until the function returns NULL. */
static struct rnic_cm_id *discard_events(struct rnic_cm_id *id)
{
    struct rnic_cm *cm = id->cm;
    struct rnic_cm_id *untaken = NULL;
    size_t kept = 0;
    size_t had = cm->event_cnt;

    if (id->queued == 0)
        return NULL;
    for (size_t i = 0; i < had; i++) {
        struct rnic_cm_event *event = &cm->event[(cm->event_first + i) & (cm->event_cap - 1)];

        if (event->id == id || (event->listener == id && !untaken)) {
            event->id->queued--;
            if (event->listener)
                event->listener->queued--;
            if (event->id != id)
                untaken = event->id;
            continue;
        }
        cm->event[(cm->event_first + kept++) & (cm->event_cap - 1)] = *event;
    }
    cm->event_cnt = kept;
    return untaken;
}

void rnic_cm_id_del(struct rnic_cm_id *id, rnic_time now)
{
    struct rnic_cm_id *untaken;

    if (!id)
        return;
    while ((untaken = discard_events(id)) != NULL)
        rnic_cm_id_del(untaken, now);
    id->deleted = true;
    id->user = NULL;
    switch (id->state) {
    case RNIC_CM_REQ_SENT:
    case RNIC_CM_MRA_REQ_RCVD: cm_send_rej(id, ROCE_CM_REJ_TIMEOUT, NULL, 0); break;
    case RNIC_CM_REQ_RCVD:
    case RNIC_CM_REP_RCVD: rnic_cm_reject(id, ROCE_CM_REJ_CONSUMER, NULL, 0, now); break;
    case RNIC_CM_REP_SENT:
    case RNIC_CM_MRA_REP_RCVD: cm_send_rej(id, ROCE_CM_REJ_CONSUMER, NULL, 0); break;
    case RNIC_CM_CONNECTED:
        if (id->active || !roce_cm_req_is_xrc(&id->req))
            cm_send_dreq(id, NULL, 0, now);
        break;
    case RNIC_CM_DREQ_RCVD: cm_send_drep(id, NULL, 0, now); break;
    case RNIC_CM_SIDR_RCVD: {
        const struct roce_cm_sidr_rep no = {.status = 2}; /* status 2: rejected by the service
                                                           * provider */

        rnic_cm_sidr_reply(id, &no, now);
        break;
    }
    default: break;
    }
    if (id->state != RNIC_CM_DREQ_SENT && id->state != RNIC_CM_TIMEWAIT)
        cm_free_id(id);
}
