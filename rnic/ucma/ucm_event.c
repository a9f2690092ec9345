/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Channel events: converts events of a CM engine to those that librdmacm reads. */
#include <errno.h>
#include <string.h>
#include "ucma/ucma.h"

void uc_ah_of(const struct uc_id *id, struct ib_uverbs_ah_attr *ah)
{
    memset(ah, 0, sizeof *ah);
    memcpy(ah->grh.dgid, id->addr.remote, 16);
    ah->grh.sgid_index = id->sgid_idx;
    ah->grh.hop_limit = id->hop_limit;
    ah->grh.traffic_class = id->tos;
    ah->is_global = 1;
    ah->port_num = 1;
}

static void put_private_data(struct rdma_ucm_conn_param *conn, const uint8_t *data, size_t len)
{
    memcpy(conn->private_data, data, len);
    conn->private_data_len = (uint8_t)len;
}

static void put_private_data_ud(struct rdma_ucm_ud_param *ud, const uint8_t *data, size_t len)
{
    memcpy(ud->private_data, data, len);
    ud->private_data_len = (uint8_t)len;
}

/* Fills in the connection parameters as this end needs them: the responder resources of the peer
 * are the initiator depth of this end, and the reverse (R238). */
static void conn_param_of_req(struct rdma_ucm_conn_param *conn, const struct roce_cm_req *req)
{
    conn->qp_num = req->local_qpn;
    conn->srq = req->srq;
    conn->responder_resources = req->initiator_depth;
    conn->initiator_depth = req->responder_resources;
    conn->flow_control = req->flow_control;
    conn->retry_count = req->retry_count;
    conn->rnr_retry_count = req->rnr_retry_count;
    conn->valid = 1;
    put_private_data(conn, req->private_data + ROCE_CM_RDMAIP_LEN, RNIC_CM_REQ_PRIVATE);
}

static void conn_param_of_rep(struct rdma_ucm_conn_param *conn, const struct roce_cm_rep *rep)
{
    conn->qp_num = roce_cm_rep_qpn(rep);
    conn->srq = rep->srq;
    conn->responder_resources = rep->initiator_depth;
    conn->initiator_depth = rep->responder_resources;
    conn->flow_control = rep->flow_control;
    conn->rnr_retry_count = rep->rnr_retry_count;
    conn->valid = 1;
    put_private_data(conn, rep->private_data, RNIC_CM_REP_PRIVATE);
}

/* Creates the id of a request that arrived for `listener`. Returns NULL if the request cannot be
 * accepted. */
static struct uc_id *new_child_id(struct uc_id *listener, struct uc_port *port,
                                  const struct rnic_cm_event *event)
{
    bool xrc = event->type == RNIC_CM_REQUEST && roce_cm_req_is_xrc(&event->msg.req);
    struct rnic_cm_ip ip;
    if (listener->backlog == 0 || !rnic_cm_ip_of(&event->msg, &ip) ||
        xrc != (listener->qp_type == IBV_QPT_XRC_RECV))
        return NULL;
    struct uc_id *id = uc_id_new(listener->file, 0, listener->space, listener->qp_type);
    if (!id)
        return NULL;
    id->cm = event->id;
    id->port = port;
    rnic_cm_id_addr(event->id, &id->addr);
    int index = uc_port_gid_index(port, id->addr.local);
    id->sgid_idx = (uint8_t)(index < 0 ? 0 : index);
    uc_addr_of(ip.dst, ip.dport, &id->src);
    uc_addr_of(ip.src, ip.sport, &id->dst);
    id->paths = 1;
    id->state = UC_CONNECT;
    id->tos = listener->tos;
    id->ack_timeout = listener->ack_timeout;
    if (event->type == RNIC_CM_REQUEST) {
        id->mtu = event->msg.req.mtu;
        id->hop_limit = event->msg.req.primary_hop;
        id->tos = event->msg.req.primary_tclass;
    }
    rnic_cm_id_set_user(event->id, id);
    return id;
}

static void deliver_request(struct uc_port *port, const struct rnic_cm_event *event)
{
    struct uc_id *listener = event->listener ? rnic_cm_id_user(event->listener) : NULL;
    struct uc_id *child = listener ? new_child_id(listener, port, event) : NULL;
    struct uc_event *posted = child ? uc_event_new(listener, UCMA_CONNECT_REQUEST, 0) : NULL;
    if (!posted) {
        if (child)
            uc_id_del(child);
        else
            rnic_cm_id_del(event->id, rnic_live_now());
        return;
    }
    listener->backlog--;
    posted->child = child;
    posted->resp.id = child->handle;
    if (event->type == RNIC_CM_REQUEST)
        conn_param_of_req(&posted->resp.param.conn, &event->msg.req);
    else
        put_private_data_ud(&posted->resp.param.ud,
                            event->msg.sidr_req.private_data + ROCE_CM_RDMAIP_LEN,
                            RNIC_CM_SIDR_PRIVATE);
    uc_post(posted);
}

static void deliver_sidr_rep(struct uc_id *id, const struct roce_cm_sidr_rep *rep)
{
    struct uc_event *posted =
        uc_event_new(id, rep->status == 0 ? UCMA_ESTABLISHED : UCMA_UNREACHABLE, rep->status);
    if (!posted)
        return;
    posted->resp.param.ud.qp_num = rep->qpn;
    posted->resp.param.ud.qkey = rep->qkey;
    uc_ah_of(id, &posted->resp.param.ud.ah_attr);
    put_private_data_ud(&posted->resp.param.ud, rep->private_data, sizeof rep->private_data);
    uc_post(posted);
}

static void deliver_event(struct uc_port *port, const struct rnic_cm_event *event)
{
    static const enum ucma_event_type types[] = {
        [RNIC_CM_RESPONSE] = UCMA_CONNECT_RESPONSE, [RNIC_CM_ESTABLISHED] = UCMA_ESTABLISHED,
        [RNIC_CM_REJECTED] = UCMA_REJECTED,         [RNIC_CM_UNREACHABLE] = UCMA_UNREACHABLE,
        [RNIC_CM_DISCONNECTED] = UCMA_DISCONNECTED, [RNIC_CM_TIMEWAIT_EXIT] = UCMA_TIMEWAIT_EXIT,
    };
    if (event->type == RNIC_CM_REQUEST || event->type == RNIC_CM_SIDR_REQUEST) {
        deliver_request(port, event);
        return;
    }
    struct uc_id *id = rnic_cm_id_user(event->id);
    if (!id || !id->uid) /* without uid, the program has not accepted the connection yet: drop the
                          * event, as Linux does. A later accept of the id fails */
        return;
    if (event->type == RNIC_CM_SIDR_RESPONSE) {
        deliver_sidr_rep(id, &event->msg.sidr_rep);
        return;
    }
    if (event->type == RNIC_CM_TIMEWAIT_EXIT && !id->disconnect_posted)
        return; /* after a REJ, no DISCONNECTED event was posted, and the end of TIMEWAIT causes no
                 * event either, as in core/cma.c */
    if (event->type == RNIC_CM_DISCONNECTED) {
        if (id->disconnect_posted)
            return;
        id->disconnect_posted = true;
    }
    struct uc_event *posted = uc_event_new(id, types[event->type], 0);
    if (!posted)
        return;
    struct rdma_ucm_conn_param *conn = &posted->resp.param.conn;
    switch (event->type) {
    case RNIC_CM_RESPONSE: conn_param_of_rep(conn, &event->msg.rep); break;
    case RNIC_CM_REJECTED:
        posted->resp.status = event->msg.rej.reason;
        put_private_data(conn, event->msg.rej.private_data, sizeof event->msg.rej.private_data);
        break;
    case RNIC_CM_UNREACHABLE: posted->resp.status = (uint32_t)-ETIMEDOUT; break;
    case RNIC_CM_DISCONNECTED:
        if (event->msg.kind == ROCE_CM_MSG_CNT) /* the peer did not answer the DREQ (core/cma.c,
                                                 * IB_CM_DREQ_ERROR) */
            posted->resp.status = (uint32_t)-ETIMEDOUT;
        break;
    default: break;
    }
    uc_post(posted);
}

void uc_deliver_cm_events(struct uc_port *port)
{
    struct rnic_cm_event event;
    while (rnic_cm_event(uc_port_cm(port), &event))
        deliver_event(port, &event);
}
