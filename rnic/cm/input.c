/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Input: processes received CM messages. */
#include <string.h>
#include "cm/conn.h"
#include "cm/engine.h"
#include "transport/fault.h"
#include "wire/bytes.h"
#include "wire/gid.h"
#include "wire/pkt.h"

/* ---- answers without an id ------------------------------------------------------------------- */

static void send_rej_once(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                          const struct rnic_cm_addr *addr, uint32_t local, uint32_t remote,
                          uint8_t what, enum roce_cm_rej_reason reason)
{
    struct roce_cm_msg rej;

    roce_cm_msg_init(&rej, ROCE_CM_REJ, msg->mad.tid);
    rej.rej.local_comm_id = local;
    rej.rej.remote_comm_id = remote;
    rej.rej.message = what;
    rej.rej.reason = (uint16_t)reason;
    cm_send_once(cm, &rej, addr);
}

enum {
    OF_REQ = 0,
    OF_REP = 1
}; /* values of the field "message" in a REJ or MRA: the kind of message that the REJ or MRA answers
    * (R235) */

static void send_mra(struct rnic_cm_id *id, const struct roce_cm_msg *msg, uint8_t what)
{
    struct roce_cm_msg mra;

    roce_cm_msg_init(&mra, ROCE_CM_MRA, msg->mad.tid);
    mra.mra.local_comm_id = id->local;
    mra.mra.remote_comm_id = id->remote;
    mra.mra.message = what;
    mra.mra.service_timeout = CM_MRA_TIMEOUT;
    cm_send_once(id->cm, &mra, &id->addr);
}

static bool answers_unknown(const struct rnic_cm *cm, enum rnic_cm_unknown what, uint64_t number,
                            const struct rnic_cm_addr *addr)
{
    return !cm->attr.answers_unknown ||
           cm->attr.answers_unknown(cm->attr.user, what, number, addr->local);
}

/* ---- finding the id of a message ------------------------------------------------------------- */

/* Returns the id with the communication id `local`, if the message is from the peer of that id.
 * `remote` must be the peer's communication id, unless the id has not received it yet. Returns NULL
 * if there is no such id. */
static struct rnic_cm_id *find_id(struct rnic_cm *cm, uint32_t local, uint32_t remote,
                                  const struct rnic_cm_addr *addr)
{
    struct rnic_cm_id *id = rnic_map_get(&cm->by_local, local);

    if (!id || id->state == RNIC_CM_IDLE || id->state == RNIC_CM_LISTEN ||
        memcmp(id->addr.remote, addr->remote, 16) != 0 ||
        memcmp(id->addr.local, addr->local, 16) != 0)
        return NULL;
    return id->remote == 0 || id->remote == remote ? id : NULL;
}

static bool waits_for_rtu(const struct rnic_cm_id *id)
{
    return id->state == RNIC_CM_REP_SENT || id->state == RNIC_CM_MRA_REP_RCVD;
}

static bool waits_for_rep(const struct rnic_cm_id *id)
{
    return id->state == RNIC_CM_REQ_SENT || id->state == RNIC_CM_MRA_REQ_RCVD;
}

/* ---- REQ, REP, RTU, REJ and MRA -------------------------------------------------------------- */

static void on_repeated_req(struct rnic_cm_id *id, const struct roce_cm_msg *msg)
{
    switch (id->state) {
    case RNIC_CM_REQ_RCVD: send_mra(id, msg, OF_REQ); break;
    case RNIC_CM_REP_SENT:
    case RNIC_CM_MRA_REP_RCVD:
        if (!RNIC_FAULT(CM_REP_ONCE))
            cm_send_again(id);
        break;
    case RNIC_CM_TIMEWAIT:
        if (id->sent_kind == ROCE_CM_REJ)
            cm_send_again(id);
        else
            send_rej_once(id->cm, msg, &id->addr, 0, msg->req.local_comm_id, OF_REQ,
                          ROCE_CM_REJ_STALE);
        break;
    /* In all other states, ignore the repeated REQ: the peer has received the answer to the REQ, or
     * the exchange has ended. */
    default: break;
    }
}

/* Returns the reason to reject a REQ, or 0 to accept it. */
static enum roce_cm_rej_reason req_reject_reason(const struct roce_cm_msg *msg,
                                                 const struct rnic_cm_addr *addr)
{
    const struct roce_cm_req *req = &msg->req;
    struct roce_cm_rdmaip ip;
    int rc;

    if (req->transport == ROCE_CM_TRANSPORT_RD || (req->transport == ROCE_CM_TRANSPORT_EXTENDED &&
                                                   req->ext_transport != ROCE_CM_EXT_TRANSPORT_XRC))
        return ROCE_CM_REJ_INVALID_TRANSPORT; /* refuse an RD connection or an unknown extended
                                               * transport (R245) */
    if (req->mtu < 1 || req->mtu > 5)
        return ROCE_CM_REJ_INVALID_MTU;
    if ((req->pkey ^ RNIC_CM_PKEY) & 0x7FFF)
        return ROCE_CM_REJ_INVALID_GID; /* the request has another P_Key than the port; Linux uses
                                         * this reason, too */
    if (memcmp(req->primary_remote_gid, addr->local, 16) != 0)
        return ROCE_CM_REJ_INVALID_GID;
    if (req->local_qpn < 2 || req->local_qpn == ROCE_QP_MULTICAST)
        return ROCE_CM_REJ_UNSUPPORTED; /* QP 0, QP 1 and the multicast QP cannot have connections
                                         */
    if (memcmp(req->primary_local_gid, addr->remote, 16) != 0)
        return ROCE_CM_REJ_UNSUPPORTED; /* the GID of the requester in the REQ is not the source
                                         * address of the packet */
    /* Reject a REQ whose RDMA-IP header is invalid or has another IP version than the GIDs (R243).
     * Linux uses the same reason. */
    rc = roce_cm_rdmaip_read(&ip, msg);
    if (rc == ROCE_ERR_MALFORMED ||
        (rc == ROCE_OK && (ip.ipv == 4) != roce_gid_is_ip4(addr->local)))
        return ROCE_CM_REJ_CONSUMER;
    return (enum roce_cm_rej_reason)0;
}

static bool on_req(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                   const struct rnic_cm_addr *addr, rnic_time now, bool no_wait)
{
    const struct roce_cm_req *req = &msg->req;
    struct rnic_cm_id *listener = cm_find_listener(cm, req->service_id, addr->local);
    struct rnic_cm_id *id = cm_find_remote(cm, req->local_comm_id, req->local_ca_guid, addr);
    struct rnic_cm_id *stale;
    enum roce_cm_rej_reason reason;

    if (id && !id->active) {
        on_repeated_req(id, msg);
        return true;
    }
    if (!listener) {
        if ((!no_wait && cm_keep_early_request(cm, msg, addr, now)) ||
            !answers_unknown(cm, RNIC_CM_UNKNOWN_SERVICE, req->service_id, addr))
            return false;
        send_rej_once(cm, msg, addr, 0, req->local_comm_id, OF_REQ, ROCE_CM_REJ_INVALID_SERVICE_ID);
        return true;
    }
    reason = req_reject_reason(msg, addr);
    stale = cm_find_qpn(cm, req->local_qpn, req->local_ca_guid, addr);
    /* The QPN in the REQ is already the remote QPN of another connection of this engine. That
     * connection is stale, because the peer now uses the QP for the new connection (R231). */
    if (!reason && stale && !RNIC_FAULT(CM_STALE)) {
        reason = ROCE_CM_REJ_STALE;
        if (stale->state == RNIC_CM_CONNECTED)
            cm_send_dreq(stale, NULL, 0, now);
    }
    cm_half_open_limit(cm, addr);
    id = reason ? NULL : rnic_cm_id_new(cm, NULL);
    if (!id) {
        send_rej_once(cm, msg, addr, 0, req->local_comm_id, OF_REQ,
                      reason ? reason : ROCE_CM_REJ_NO_RESOURCES);
        return true;
    }
    id->addr = *addr;
    id->req = *req;
    id->tid = msg->mad.tid;
    cm_set_peer(id, req->local_comm_id, req->local_ca_guid, req->local_qpn);
    cm_enter(id, RNIC_CM_REQ_RCVD);
    cm_post_event(id, RNIC_CM_REQUEST, listener, msg);
    return true;
}

static bool on_mra(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                   const struct rnic_cm_addr *addr, rnic_time now)
{
    struct rnic_cm_id *id = find_id(cm, msg->mra.remote_comm_id, msg->mra.local_comm_id, addr);
    uint64_t wait =
        id ? cm_code_ns(msg->mra.service_timeout) + cm_code_ns(id->req.primary_ack_timeout)
           : 0; /* service timeout in the peer's MRA plus the ACK timeout in the REQ, which
                 * includes the packet lifetime (R236) */

    if (!id)
        return cm_is_own_comm_id(cm, msg->mra.remote_comm_id);
    if (RNIC_FAULT(CM_MRA_IGNORED))
        return true;
    if (msg->mra.message == OF_REQ && waits_for_rep(id))
        cm_enter(id, RNIC_CM_MRA_REQ_RCVD);
    else if (msg->mra.message == OF_REP && waits_for_rtu(id))
        cm_enter(id, RNIC_CM_MRA_REP_RCVD);
    else
        return true;
    cm_timer(id, now + wait);
    return true;
}

static bool on_rej(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                   const struct rnic_cm_addr *addr, rnic_time now)
{
    struct rnic_cm_id *id = find_id(cm, msg->rej.remote_comm_id, msg->rej.local_comm_id, addr);

    /* If the peer timed out before it received our communication id, its REJ contains its CA GUID
     * in place of this id. */
    if (!id && msg->rej.reason == ROCE_CM_REJ_TIMEOUT && msg->rej.info_len >= 8)
        id = cm_find_remote(cm, msg->rej.local_comm_id, roce_bits_get(msg->rej.info, 0, 0, 64),
                            addr);
    if (!id)
        return cm_is_own_comm_id(cm, msg->rej.remote_comm_id);
    switch (id->state) {
    case RNIC_CM_REQ_SENT:
    case RNIC_CM_MRA_REQ_RCVD:
    case RNIC_CM_REQ_RCVD:
    case RNIC_CM_REP_RCVD:
    case RNIC_CM_REP_SENT:
    case RNIC_CM_MRA_REP_RCVD:
        cm_timer(id, RNIC_NEVER);
        cm_enter(id, RNIC_CM_IDLE);
        cm_post_event(id, RNIC_CM_REJECTED, NULL, msg);
        break;
    case RNIC_CM_CONNECTED: /* the peer rejects the connection after a timeout, because it did not
                             * receive our RTU */
        cm_enter_timewait(id, now);
        cm_post_event(id, RNIC_CM_REJECTED, NULL, msg);
        break;
    case RNIC_CM_DREQ_SENT:
        cm_enter_timewait(id, now);
        cm_post_event(id, RNIC_CM_DISCONNECTED, NULL, msg);
        break;
    default: break;
    }
    return true;
}

static bool on_rep(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                   const struct rnic_cm_addr *addr, rnic_time now)
{
    const struct roce_cm_rep *rep = &msg->rep;
    struct rnic_cm_id *id = find_id(cm, rep->remote_comm_id, rep->local_comm_id, addr);
    struct rnic_cm_id *stale;

    (void)now;
    if (!cm_is_own_comm_id(cm, rep->remote_comm_id))
        return false;
    if (!id || !id->active) {
        send_rej_once(cm, msg, addr, rep->remote_comm_id, rep->local_comm_id, OF_REP,
                      ROCE_CM_REJ_INVALID_COMM_ID);
        return true;
    }
    if (waits_for_rep(id)) {
        uint32_t qpn = roce_cm_rep_qpn(rep);

        stale = cm_find_qpn(cm, qpn, rep->local_ca_guid, addr);
        if (stale && stale != id && qpn != 0 && stale->active) {
            send_rej_once(cm, msg, addr, id->local, rep->local_comm_id, OF_REP, ROCE_CM_REJ_STALE);
            return true;
        }
        id->rep = *rep;
        cm_set_peer(id, rep->local_comm_id, rep->local_ca_guid, qpn);
        cm_timer(id, RNIC_NEVER);
        cm_enter(id, RNIC_CM_REP_RCVD);
        cm_post_event(id, RNIC_CM_RESPONSE, NULL, msg);
    } else if (id->state == RNIC_CM_REP_RCVD) {
        send_mra(id, msg, OF_REP);
    } else if (id->sent_kind == ROCE_CM_RTU || id->sent_kind == ROCE_CM_REJ) {
        cm_send_again(id); /* answer a repeated REP with the same RTU or REJ (R230) */
    }
    return true;
}

static bool on_rtu(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                   const struct rnic_cm_addr *addr, rnic_time now)
{
    struct rnic_cm_id *id = find_id(cm, msg->rtu.remote_comm_id, msg->rtu.local_comm_id, addr);

    (void)now;
    if (id && waits_for_rtu(id)) {
        cm_timer(id, RNIC_NEVER);
        cm_enter(id, RNIC_CM_CONNECTED);
        cm_post_event(id, RNIC_CM_ESTABLISHED, NULL, msg);
    }
    return cm_is_own_comm_id(cm, msg->rtu.remote_comm_id);
}

/* ---- DREQ and DREP --------------------------------------------------------------------------- */

static bool on_dreq(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                    const struct rnic_cm_addr *addr, rnic_time now)
{
    const struct roce_cm_dreq *dreq = &msg->dreq;
    struct rnic_cm_id *id = find_id(cm, dreq->remote_comm_id, dreq->local_comm_id, addr);

    if (!id) {
        struct roce_cm_msg drep;

        if (!cm_is_own_comm_id(cm, dreq->remote_comm_id) &&
            !answers_unknown(cm, RNIC_CM_UNKNOWN_COMM_ID, dreq->remote_comm_id, addr))
            return false;
        roce_cm_msg_init(&drep, ROCE_CM_DREP, msg->mad.tid); /* a DREQ for an unknown connection is
                                                              * answered by a DREP, too (R233) */
        drep.drep.local_comm_id = dreq->remote_comm_id;
        drep.drep.remote_comm_id = dreq->local_comm_id;
        cm_send_once(cm, &drep, addr);
        return true;
    }
    if (dreq->remote_qpn != id->local_qpn && !RNIC_FAULT(CM_DREQ_QPN))
        return true; /* ignore a DREQ with the wrong QPN (R233) */
    switch (id->state) {
    case RNIC_CM_CONNECTED:
    case RNIC_CM_REP_SENT:
    case RNIC_CM_MRA_REP_RCVD:
        id->tid = msg->mad.tid;
        cm_timer(id, RNIC_NEVER);
        cm_enter(id, RNIC_CM_DREQ_RCVD);
        cm_post_event(id, RNIC_CM_DISCONNECTED, NULL, msg);
        break;
    case RNIC_CM_DREQ_SENT: /* both sides sent a DREQ at the same time */
        id->tid = msg->mad.tid;
        cm_send_drep(id, NULL, 0, now);
        cm_post_event(id, RNIC_CM_DISCONNECTED, NULL, msg);
        break;
    case RNIC_CM_TIMEWAIT: {
        struct roce_cm_msg drep;

        roce_cm_msg_init(&drep, ROCE_CM_DREP, msg->mad.tid);
        drep.drep.local_comm_id = id->local;
        drep.drep.remote_comm_id = id->remote;
        cm_send_once(cm, &drep, addr);
        break;
    }
    default: break;
    }
    return true;
}

static bool on_drep(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                    const struct rnic_cm_addr *addr, rnic_time now)
{
    struct rnic_cm_id *id = find_id(cm, msg->drep.remote_comm_id, msg->drep.local_comm_id, addr);

    if (id && id->state == RNIC_CM_DREQ_SENT) {
        cm_enter_timewait(id, now);
        cm_post_event(id, RNIC_CM_DISCONNECTED, NULL, msg);
    }
    return cm_is_own_comm_id(cm, msg->drep.remote_comm_id);
}

/* ---- UD services ----------------------------------------------------------------------------- */

static bool on_sidr_req(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                        const struct rnic_cm_addr *addr, rnic_time now, bool no_wait)
{
    const struct roce_cm_sidr_req *req = &msg->sidr_req;
    struct rnic_cm_id *listener = cm_find_listener(cm, req->service_id, addr->local);
    struct rnic_cm_id *id;
    struct roce_cm_rdmaip ip;
    /* values of the status in a SIDR_REP (table 120) */
    enum { UNSUPPORTED = 1, REJECTED = 2 };
    uint8_t status = 0;

    id = cm_find_request(cm, req->request_id, addr);
    if (id) {
        if (id->state == RNIC_CM_SIDR_DONE)
            cm_send_again(id);
        return true;
    }
    if (!listener && ((!no_wait && cm_keep_early_request(cm, msg, addr, now)) ||
                      !answers_unknown(cm, RNIC_CM_UNKNOWN_SERVICE, req->service_id, addr)))
        return false;
    if (!listener)
        status = UNSUPPORTED;
    else if (roce_cm_rdmaip_read(&ip, msg) == ROCE_ERR_MALFORMED)
        status = REJECTED;
    cm_half_open_limit(cm, addr);
    id = status ? NULL : rnic_cm_id_new(cm, NULL);
    if (!id) {
        struct roce_cm_msg rep;

        roce_cm_msg_init(&rep, ROCE_CM_SIDR_REP, msg->mad.tid);
        rep.sidr_rep.request_id = req->request_id;
        rep.sidr_rep.service_id = req->service_id;
        rep.sidr_rep.status = status ? status : REJECTED;
        cm_send_once(cm, &rep, addr);
        return true;
    }
    id->addr = *addr;
    id->tid = msg->mad.tid;
    cm_set_request(id, req->request_id);
    cm_enter(id, RNIC_CM_SIDR_RCVD);
    cm_post_event(id, RNIC_CM_SIDR_REQUEST, listener, msg);
    return true;
}

static bool on_sidr_rep(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                        const struct rnic_cm_addr *addr, rnic_time now)
{
    struct rnic_cm_id *id = rnic_map_get(&cm->by_local, msg->sidr_rep.request_id);

    (void)now;
    if (id && id->state == RNIC_CM_SIDR_SENT && memcmp(id->addr.remote, addr->remote, 16) == 0) {
        cm_timer(id, RNIC_NEVER);
        cm_enter(id, RNIC_CM_IDLE);
        cm_post_event(id, RNIC_CM_SIDR_RESPONSE, NULL, msg);
    }
    return cm_is_own_comm_id(cm, msg->sidr_rep.request_id);
}

/* ---- alternate paths, which RoCE does not have (R197) ---------------------------------------- */

static bool on_lap(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                   const struct rnic_cm_addr *addr, rnic_time now)
{
    struct rnic_cm_id *id = find_id(cm, msg->lap.remote_comm_id, msg->lap.local_comm_id, addr);
    struct roce_cm_msg apr;

    (void)now;
    if (!id || RNIC_FAULT(CM_LAP))
        return cm_is_own_comm_id(cm, msg->lap.remote_comm_id);
    roce_cm_msg_init(&apr, ROCE_CM_APR, msg->mad.tid);
    apr.apr.local_comm_id = id->local;
    apr.apr.remote_comm_id = id->remote;
    apr.apr.status = ROCE_CM_APR_UNSUPPORTED;
    cm_send_once(cm, &apr, addr);
    return true;
}

bool cm_handle_request(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                       const struct rnic_cm_addr *addr, rnic_time now, bool no_wait)
{
    return msg->kind == ROCE_CM_REQ ? on_req(cm, msg, addr, now, no_wait)
                                    : on_sidr_req(cm, msg, addr, now, no_wait);
}

bool rnic_cm_input(struct rnic_cm *cm, const uint8_t *mad, size_t len,
                   const struct rnic_cm_addr *addr, rnic_time now)
{
    struct roce_cm_msg msg;

    if (roce_cm_msg_parse(&msg, mad, len, len) != 0)
        return false; /* drop a malformed MAD (R246) */
    switch (msg.kind) {
    case ROCE_CM_REQ:
    case ROCE_CM_SIDR_REQ: return cm_handle_request(cm, &msg, addr, now, false);
    case ROCE_CM_MRA: return on_mra(cm, &msg, addr, now);
    case ROCE_CM_REJ: return on_rej(cm, &msg, addr, now);
    case ROCE_CM_REP: return on_rep(cm, &msg, addr, now);
    case ROCE_CM_RTU: return on_rtu(cm, &msg, addr, now);
    case ROCE_CM_DREQ: return on_dreq(cm, &msg, addr, now);
    case ROCE_CM_DREP: return on_drep(cm, &msg, addr, now);
    case ROCE_CM_SIDR_REP: return on_sidr_rep(cm, &msg, addr, now);
    case ROCE_CM_LAP: return on_lap(cm, &msg, addr, now);
    default: return false; /* an APR answers a LAP, which this engine never sends */
    }
}
