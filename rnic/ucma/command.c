/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Command: the commands of rdma/rdma_user_cm.h. Each copies what it was given into its structure,
 * shorter ones of earlier releases with zeros behind, and writes as much of its answer as the
 * program has room for. Errors are those of the kernel (drivers/infiniband/core/ucma.c).
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ucma/ucma.h"
#include "wire/gid.h"

/* What Linux 6.17 has more than the header of Debian 12: its numbers, and what a command of it
 * holds (struct rdma_ucm_write_cm_event). */
enum { WRITE_CM_EVENT = RDMA_USER_CM_CMD_JOIN_MCAST + 2, COMMANDS };

struct write_event {
    uint32_t id;
    uint32_t reserved;
    uint32_t event;
    uint32_t status;
    uint64_t arg;
};

union body {
    struct write_event write_event;
    struct rdma_ucm_create_id create_id;
    struct rdma_ucm_destroy_id destroy_id;
    struct rdma_ucm_bind_ip bind_ip;
    struct rdma_ucm_bind bind;
    struct rdma_ucm_resolve_ip resolve_ip;
    struct rdma_ucm_resolve_addr resolve_addr;
    struct rdma_ucm_resolve_route resolve_route;
    struct rdma_ucm_query query;
    struct rdma_ucm_connect connect;
    struct rdma_ucm_listen listen;
    struct rdma_ucm_accept accept;
    struct rdma_ucm_reject reject;
    struct rdma_ucm_disconnect disconnect;
    struct rdma_ucm_init_qp_attr init_qp_attr;
    struct rdma_ucm_get_event get_event;
    struct rdma_ucm_set_option set_option;
    struct rdma_ucm_notify notify;
    struct rdma_ucm_join_ip_mcast join_ip_mcast;
    struct rdma_ucm_join_mcast join_mcast;
    struct rdma_ucm_migrate_id migrate_id;
};

struct call {
    struct uc_file *file;
    const union body *in;
    size_t out; /* room for the answer */
};

static int answer(const struct call *call, uint64_t to, const void *from, size_t len)
{
    if (!to || call->out == 0)
        return -ENOSPC;
    memcpy((void *)(uintptr_t)to, from, len < call->out ? len : call->out);
    return 0;
}

static int errno_of(int rnic_error)
{
    switch (rnic_error) {
    case RNIC_OK: return 0;
    case RNIC_ERR_NOMEM: return -ENOMEM;
    case RNIC_ERR_EXISTS: return -EADDRINUSE;
    default: return -EINVAL;
    }
}

static bool is_ud(const struct uc_id *id)
{
    return id->qp_type == IBV_QPT_UD;
}

static void addr_from(union uc_addr *to, const void *from, size_t len)
{
    memset(to, 0, sizeof *to);
    memcpy(to, from, len < sizeof *to ? len : sizeof *to);
}

/* ---- ids ------------------------------------------------------------------------------------- */

static int create_id(const struct call *call)
{
    const struct rdma_ucm_create_id *in = &call->in->create_id;
    uint8_t type = IBV_QPT_RC;
    switch (in->ps) {
    case RDMA_PS_TCP: break;
    case RDMA_PS_UDP:
    case RDMA_PS_IPOIB: type = IBV_QPT_UD; break;
    case RDMA_PS_IB: type = in->qp_type; break;
    default: return -EINVAL;
    }
    struct uc_id *id = uc_id_new(call->file, in->uid, in->ps, type);
    if (!id)
        return -ENOMEM;
    const struct rdma_ucm_create_id_resp resp = {.id = id->handle};
    int result = answer(call, in->response, &resp, sizeof resp);
    if (result < 0)
        uc_id_del(id);
    return result;
}

static int destroy_id(const struct call *call)
{
    const struct rdma_ucm_destroy_id *in = &call->in->destroy_id;
    struct uc_id *id = uc_id_find(in->id); /* asleep or not */
    if (!id || id->file != call->file)
        return -ENOENT;
    uc_leave_events(id);
    id = uc_id_find(in->id);
    if (!id || id->file != call->file)
        return -ENOENT;
    const struct rdma_ucm_destroy_id_resp resp = {.events_reported = id->reported};
    uc_id_del(id);
    return answer(call, in->response, &resp, sizeof resp);
}

static int migrate_id(const struct call *call)
{
    const struct rdma_ucm_migrate_id *in = &call->in->migrate_id;
    struct uc_file *from = uc_file_of((int)in->fd);
    struct uc_id *id = from ? uc_id_get(from, in->id) : NULL;
    if (!id)
        return -ENOENT;
    if (from != call->file)
        uc_move_events(id, call->file);
    const struct rdma_ucm_migrate_resp resp = {.events_reported = id->reported};
    return answer(call, in->response, &resp, sizeof resp);
}

static int set_option(const struct call *call)
{
    const struct rdma_ucm_set_option *in = &call->in->set_option;
    struct uc_id *id = uc_id_get(call->file, in->id);
    const void *value = (const void *)(uintptr_t)in->optval;
    if (!id)
        return -ENOENT;
    if (in->level != RDMA_OPTION_ID)
        return -ENOSYS; /* paths are not chosen by a subnet manager here */
    switch (in->optname) {
    case RDMA_OPTION_ID_TOS:
        if (in->optlen != sizeof id->tos)
            return -EINVAL;
        id->tos = *(const uint8_t *)value;
        return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
        if (in->optlen != sizeof id->ack_timeout || is_ud(id))
            return -EINVAL;
        id->ack_timeout = *(const uint8_t *)value & 31;
        return 0;
    case RDMA_OPTION_ID_REUSEADDR:
        if (in->optlen != sizeof(int))
            return -EINVAL;
        id->reuse = *(const int *)value != 0;
        return 0;
    case RDMA_OPTION_ID_AFONLY: return in->optlen == sizeof(int) ? 0 : -EINVAL;
    default: return -ENOSYS;
    }
}

/* ---- addresses ------------------------------------------------------------------------------- */

static int bind_to(const struct call *call, uint32_t handle, const void *from, size_t len)
{
    struct uc_id *id = uc_id_get(call->file, handle);
    union uc_addr addr;
    if (!id)
        return -ENOENT;
    addr_from(&addr, from, len);
    return uc_bind(id, &addr);
}

static int bind_ip(const struct call *call)
{
    const struct rdma_ucm_bind_ip *in = &call->in->bind_ip;
    return bind_to(call, in->id, &in->addr, sizeof in->addr);
}

static int bind_any(const struct call *call)
{
    const struct rdma_ucm_bind *in = &call->in->bind;
    return bind_to(call, in->id, &in->addr, in->addr_size);
}

static int resolve(const struct call *call, uint32_t handle, const void *src, size_t src_len,
                   const void *dst, size_t dst_len, uint32_t timeout_ms)
{
    struct uc_id *id = uc_id_get(call->file, handle);
    union uc_addr from, to;
    uint8_t gid[16];
    if (!id)
        return -ENOENT;
    addr_from(&from, src, src_len);
    addr_from(&to, dst, dst_len);
    if (!uc_gid_of(&to, gid))
        return -EAFNOSUPPORT;
    if (id->state != UC_IDLE && id->state != UC_BOUND)
        return -EINVAL;
    if (id->state == UC_IDLE && uc_gid_of(&from, gid)) {
        int result = uc_bind(id, &from);
        if (result < 0)
            return result;
    }
    id->dst = to;
    id->timeout_ms = timeout_ms;
    id->job = UC_RESOLVE_ADDR;
    uc_worker_wake();
    return 0;
}

static int resolve_ip(const struct call *call)
{
    const struct rdma_ucm_resolve_ip *in = &call->in->resolve_ip;
    return resolve(call, in->id, &in->src_addr, sizeof in->src_addr, &in->dst_addr,
                   sizeof in->dst_addr, in->timeout_ms);
}

static int resolve_any(const struct call *call)
{
    const struct rdma_ucm_resolve_addr *in = &call->in->resolve_addr;
    return resolve(call, in->id, &in->src_addr, in->src_size, &in->dst_addr, in->dst_size,
                   in->timeout_ms);
}

static int resolve_route(const struct call *call)
{
    struct uc_id *id = uc_id_get(call->file, call->in->resolve_route.id);
    if (!id)
        return -ENOENT;
    if (id->state != UC_ADDR)
        return -EINVAL;
    id->job = UC_RESOLVE_ROUTE;
    uc_worker_wake();
    return 0;
}

static int query_route(const struct call *call)
{
    const struct rdma_ucm_query *in = &call->in->query;
    const struct uc_id *id = uc_id_get(call->file, in->id);
    struct rdma_ucm_query_route_resp resp = {.num_paths = 0};
    if (!id)
        return -ENOENT;
    memcpy(&resp.src_addr, &id->src, sizeof resp.src_addr);
    memcpy(&resp.dst_addr, &id->dst, sizeof resp.dst_addr);
    if (id->port) {
        struct ibv_device *device = uc_port_context(id->port)->device;
        struct ib_user_path_rec *path = &resp.ib_route[0];
        resp.node_guid = ibv_get_device_guid(device);
        resp.ibdev_index = (uint32_t)ibv_get_device_index(device);
        resp.port_num = 1;
        resp.num_paths = id->paths;
        uc_gid_of(&id->dst, path->dgid);
        memcpy(path->sgid, id->addr.local, 16);
        path->pkey = htobe16(0xffff);
        if (id->paths) {
            enum { EXACTLY = 2 };
            struct rnic_cm_path manners;
            uc_path_of(id, &manners);
            path->reversible = 1;
            path->numb_path = 1;
            path->mtu_selector = EXACTLY;
            path->mtu = id->mtu;
            path->rate_selector = EXACTLY;
            path->hop_limit = id->hop_limit;
            path->traffic_class = id->tos;
            path->packet_life_time_selector = EXACTLY;
            path->packet_life_time = manners.packet_life_time;
        }
    }
    return answer(call, in->response, &resp, sizeof resp);
}

/* ---- connections ----------------------------------------------------------------------------- */

static int listen_for(const struct call *call)
{
    struct uc_id *id = uc_id_get(call->file, call->in->listen.id);
    if (!id)
        return -ENOENT;
    int result = uc_listen(id, call->in->listen.backlog);
    uc_worker_wake(); /* somebody may have asked for it already */
    return result;
}

static struct rnic_cm_param param_of(const struct uc_id *id, const struct rdma_ucm_conn_param *conn)
{
    return (struct rnic_cm_param){
        .type = (enum rnic_qp_type)id->qp_type,
        .qpn = conn->qp_num & 0xFFFFFF,
        .starting_psn = id->psn,
        .responder_resources = conn->responder_resources,
        .initiator_depth = conn->initiator_depth,
        .retry_count = conn->retry_count > 7 ? 7 : conn->retry_count,
        .rnr_retry_count = conn->rnr_retry_count > 7 ? 7 : conn->rnr_retry_count,
        .flow_control = conn->flow_control,
        .srq = conn->srq,
        .private_data = conn->private_data,
        .private_len = conn->private_data_len,
    };
}

static int connect_to(const struct call *call)
{
    const struct rdma_ucm_connect *in = &call->in->connect;
    struct uc_id *id = uc_id_get(call->file, in->id);
    struct rnic_cm_path path;
    struct rnic_cm_ip ip = {.space = (enum roce_cm_port_space)0};
    int result;
    if (!id)
        return -ENOENT;
    if (!in->conn_param.valid || id->state != UC_ROUTE || id->cm)
        return -EINVAL;
    ip.space = (enum roce_cm_port_space)id->space;
    ip.sport = uc_addr_port(&id->src);
    ip.dport = uc_addr_port(&id->dst);
    uc_gid_of(&id->src, ip.src);
    uc_gid_of(&id->dst, ip.dst);
    uc_path_of(id, &path);
    id->cm = rnic_cm_id_new(uc_port_cm(id->port), id);
    if (!id->cm)
        return -ENOMEM;
    if (is_ud(id)) {
        struct roce_cm_sidr_req req;
        result = rnic_cm_make_sidr_req(&req, &ip, in->conn_param.private_data,
                                       in->conn_param.private_data_len);
        if (result == 0)
            result = rnic_cm_sidr_ask(id->cm, &req, path.cm_timeout, path.max_cm_retries, &id->addr,
                                      rnic_loop_now());
    } else {
        const struct rnic_cm_param param = param_of(id, &in->conn_param);
        struct roce_cm_req req;
        result = rnic_cm_make_req(&req, &param, &path, &ip, &id->addr, uc_port_guid(id->port));
        if (result == 0)
            result = rnic_cm_connect(id->cm, &req, &id->addr, rnic_loop_now());
    }
    if (result == 0) {
        id->state = UC_CONNECT;
    } else {
        rnic_cm_id_del(id->cm, rnic_loop_now());
        id->cm = NULL;
    }
    uc_worker_wake();
    return errno_of(result);
}

static int accept_it(const struct call *call)
{
    const struct rdma_ucm_accept *in = &call->in->accept;
    struct uc_id *id = uc_id_get(call->file, in->id);
    struct rnic_cm_path path;
    int result;
    if (!id)
        return -ENOENT;
    if (!id->cm)
        return -EINVAL;
    uc_path_of(id, &path);
    if (!in->conn_param.valid) {
        result = rnic_cm_establish(id->cm, NULL, 0, rnic_loop_now());
    } else if (is_ud(id)) {
        struct roce_cm_sidr_rep rep = {
            .qpn = in->conn_param.qp_num & 0xFFFFFF,
            .qkey = in->conn_param.qkey ? in->conn_param.qkey : UCMA_UDP_QKEY,
            .service_id = roce_cm_sid((enum roce_cm_port_space)id->space, uc_addr_port(&id->src)),
        };
        size_t len = in->conn_param.private_data_len;
        if (len > sizeof rep.private_data)
            return -EINVAL;
        memcpy(rep.private_data, in->conn_param.private_data, len);
        result = rnic_cm_sidr_answer(id->cm, &rep, rnic_loop_now());
    } else {
        const struct rnic_cm_param param = param_of(id, &in->conn_param);
        struct roce_cm_rep rep;
        result = rnic_cm_make_rep(&rep, &param, &path, uc_port_guid(id->port));
        if (result == 0)
            result = rnic_cm_accept(id->cm, &rep, rnic_loop_now());
    }
    if (result == 0 && in->conn_param.valid)
        id->uid = in->uid;
    uc_worker_wake();
    return errno_of(result);
}

static int reject_it(const struct call *call)
{
    const struct rdma_ucm_reject *in = &call->in->reject;
    struct uc_id *id = uc_id_get(call->file, in->id);
    int result;
    if (!id)
        return -ENOENT;
    if (!id->cm)
        return -EINVAL;
    if (is_ud(id)) {
        struct roce_cm_sidr_rep rep = {.status = 2}; /* rejected, table 120 */
        size_t len = in->private_data_len;
        if (len > sizeof rep.private_data)
            return -EINVAL;
        memcpy(rep.private_data, in->private_data, len);
        result = rnic_cm_sidr_answer(id->cm, &rep, rnic_loop_now());
    } else {
        result = rnic_cm_reject(id->cm, in->reason ? in->reason : ROCE_CM_REJ_CONSUMER,
                                in->private_data, in->private_data_len, rnic_loop_now());
    }
    uc_worker_wake();
    return errno_of(result);
}

static int disconnect(const struct call *call)
{
    struct uc_id *id = uc_id_get(call->file, call->in->disconnect.id);
    if (!id)
        return -ENOENT;
    if (!id->cm)
        return -EINVAL;
    rnic_cm_disconnect(id->cm, NULL, 0, rnic_loop_now()); /* twice is no mistake */
    uc_worker_wake();
    return 0;
}

static int notify(const struct call *call)
{
    const struct rdma_ucm_notify *in = &call->in->notify;
    struct uc_id *id = uc_id_get(call->file, in->id);
    if (!id)
        return -ENOENT;
    if (!id->cm)
        return -EINVAL;
    int result =
        in->event == IBV_EVENT_COMM_EST ? rnic_cm_comm_est(id->cm, rnic_loop_now()) : RNIC_OK;
    uc_deliver(id->port);
    return errno_of(result);
}

/* ---- QP attributes --------------------------------------------------------------------------- */

/* How long a sender waits whose message came before its buffer. For one that retries for ever (7),
 * soon. One that counts gets what Linux has for all (core/cm.c, cm_init_qp_rtr_attr): a few times
 * 0.64 ms are over while a busy machine has the receiver wait for a processor. The REQ tells, as
 * both ends mostly say the same and the passive one has not answered yet. */
static uint8_t rnr_timer(const struct uc_id *id)
{
    enum { MS_655 = 0, MS_0_64 = 12, FOR_EVER = 7 };
    return rnic_cm_id_req(id->cm)->rnr_retry_count == FOR_EVER ? MS_0_64 : MS_655;
}

static void qp_init(const struct uc_id *id, const struct rnic_cm_qp *qp,
                    struct ib_uverbs_qp_attr *attr)
{
    attr->qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    attr->port_num = 1;
    if (is_ud(id)) {
        attr->qp_attr_mask |= IBV_QP_QKEY;
        attr->qkey = UCMA_UDP_QKEY;
        return;
    }
    attr->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
    if (!id->cm)
        return;
    attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (qp->max_dest_rd_atomic)
        attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

static void qp_rtr(const struct uc_id *id, const struct rnic_cm_qp *qp,
                   struct ib_uverbs_qp_attr *attr)
{
    attr->qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    uc_ah_of(id, &attr->ah_attr);
    attr->path_mtu = qp->mtu;
    attr->dest_qp_num = qp->dest_qpn;
    attr->rq_psn = id->psn; /* the peer begins with what we said */
    if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV) {
        attr->qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        attr->max_dest_rd_atomic = qp->max_dest_rd_atomic;
        attr->min_rnr_timer = rnr_timer(id);
    }
}

static void qp_rts(const struct uc_id *id, const struct rnic_cm_qp *qp,
                   struct ib_uverbs_qp_attr *attr)
{
    attr->qp_attr_mask |= IBV_QP_SQ_PSN;
    attr->sq_psn = qp->sq_psn;
    if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND) {
        attr->qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        attr->retry_cnt = qp->retry_cnt;
        attr->rnr_retry = qp->rnr_retry;
        attr->max_rd_atomic = qp->max_rd_atomic;
    }
    if (id->qp_type != IBV_QPT_UC) {
        attr->qp_attr_mask |= IBV_QP_TIMEOUT;
        attr->timeout = id->ack_timeout ? id->ack_timeout : qp->timeout;
    }
}

static int init_qp_attr(const struct call *call)
{
    const struct rdma_ucm_init_qp_attr *in = &call->in->init_qp_attr;
    const struct uc_id *id = uc_id_get(call->file, in->id);
    struct ib_uverbs_qp_attr attr = {.qp_attr_mask = IBV_QP_STATE, .qp_state = in->qp_state};
    struct rnic_cm_qp qp = {.dest_qpn = 0};
    struct rnic_cm_path path;
    if (!id)
        return -ENOENT;
    if (!id->port || (in->qp_state != IBV_QPS_INIT && (!id->cm || is_ud(id))))
        return -EINVAL;
    uc_path_of(id, &path);
    if (id->cm && !is_ud(id))
        rnic_cm_qp_of(id->cm, path.ack_delay, &qp);
    switch (in->qp_state) {
    case IBV_QPS_INIT: qp_init(id, &qp, &attr); break;
    case IBV_QPS_RTR: qp_rtr(id, &qp, &attr); break;
    case IBV_QPS_RTS: qp_rts(id, &qp, &attr); break;
    default: return -EINVAL;
    }
    return answer(call, in->response, &attr, sizeof attr);
}

/* ---- multicast ------------------------------------------------------------------------------- */

static int join(const struct call *call, uint32_t handle, uint64_t uid, uint64_t response,
                const void *from, size_t len)
{
    struct uc_id *id = uc_id_get(call->file, handle);
    union uc_addr addr;
    uint8_t gid[16];
    if (!id)
        return -ENOENT;
    addr_from(&addr, from, len);
    if (!id->port || !is_ud(id) || !uc_gid_of(&addr, gid) || !roce_gid_is_multicast(gid))
        return -EINVAL;
    struct uc_mcast *mcast = calloc(1, sizeof *mcast);
    struct uc_event *event = mcast ? uc_event_new(id, UCMA_MULTICAST_JOIN, 0) : NULL;
    if (!event) {
        free(mcast);
        return -ENOMEM;
    }
    mcast->handle = uc_handle_new();
    mcast->uid = uid;
    const struct rdma_ucm_create_id_resp resp = {.id = mcast->handle};
    int result = answer(call, response, &resp, sizeof resp);
    if (result < 0) {
        free(event);
        free(mcast);
        return result;
    }
    mcast->next = id->mcasts;
    id->mcasts = mcast;
    event->mcast = mcast;
    event->resp.uid = uid;
    event->resp.id = mcast->handle;
    uc_ah_of(id, &event->resp.param.ud.ah_attr);
    memcpy(event->resp.param.ud.ah_attr.grh.dgid, gid, 16);
    event->resp.param.ud.ah_attr.grh.hop_limit = 1;
    event->resp.param.ud.qp_num = 0xFFFFFF; /* R048 */
    event->resp.param.ud.qkey = UCMA_UDP_QKEY;
    uc_post(event);
    return 0;
}

static int join_ip(const struct call *call)
{
    const struct rdma_ucm_join_ip_mcast *in = &call->in->join_ip_mcast;
    return join(call, in->id, in->uid, in->response, &in->addr, sizeof in->addr);
}

static int join_any(const struct call *call)
{
    const struct rdma_ucm_join_mcast *in = &call->in->join_mcast;
    return join(call, in->id, in->uid, in->response, &in->addr, in->addr_size);
}

static int leave(const struct call *call)
{
    const struct rdma_ucm_destroy_id *in = &call->in->destroy_id;
    for (struct uc_id *id = uc_ids; id; id = id->next)
        for (struct uc_mcast **at = &id->mcasts; *at; at = &(*at)->next) {
            struct uc_mcast *mcast = *at;
            if (mcast->handle != in->id)
                continue;
            if (id->file != call->file)
                return -EINVAL;
            uc_forget_events(id, mcast);
            const struct rdma_ucm_destroy_id_resp resp = {.events_reported = mcast->reported};
            *at = mcast->next;
            free(mcast);
            return answer(call, in->response, &resp, sizeof resp);
        }
    return -ENOENT;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int get_event(const struct call *call)
{
    struct rdma_ucm_event_resp resp;
    if (!call->in->get_event.response || call->out < offsetof(struct rdma_ucm_event_resp, reserved))
        return -ENOSPC;
    int result = uc_get_event(call->file, &resp);
    return result < 0 ? result : answer(call, call->in->get_event.response, &resp, sizeof resp);
}

/* The program's own event, for whoever waits for events of the id. */
static int write_event(const struct call *call)
{
    const struct write_event *in = &call->in->write_event;
    if (in->event != UCMA_USER && in->event != UCMA_INTERNAL)
        return -EINVAL;
    struct uc_id *id = uc_id_get(call->file, in->id);
    if (!id)
        return -ENOENT;
    struct uc_event *event = uc_event_new(id, (enum ucma_event_type)in->event, (int)in->status);
    if (!event)
        return -ENOMEM;
    memcpy(&event->resp.param, &in->arg, sizeof in->arg);
    uc_post(event);
    return 0;
}

/* RDMA_USER_CM_CMD_RESOLVE_IB_SERVICE, which asks a subnet administrator, has no row: there is
 * none. */
static int (*const commands[COMMANDS])(const struct call *call) = {
    [RDMA_USER_CM_CMD_CREATE_ID] = create_id,
    [RDMA_USER_CM_CMD_DESTROY_ID] = destroy_id,
    [RDMA_USER_CM_CMD_BIND_IP] = bind_ip,
    [RDMA_USER_CM_CMD_RESOLVE_IP] = resolve_ip,
    [RDMA_USER_CM_CMD_RESOLVE_ROUTE] = resolve_route,
    [RDMA_USER_CM_CMD_QUERY_ROUTE] = query_route,
    [RDMA_USER_CM_CMD_CONNECT] = connect_to,
    [RDMA_USER_CM_CMD_LISTEN] = listen_for,
    [RDMA_USER_CM_CMD_ACCEPT] = accept_it,
    [RDMA_USER_CM_CMD_REJECT] = reject_it,
    [RDMA_USER_CM_CMD_DISCONNECT] = disconnect,
    [RDMA_USER_CM_CMD_INIT_QP_ATTR] = init_qp_attr,
    [RDMA_USER_CM_CMD_GET_EVENT] = get_event,
    [RDMA_USER_CM_CMD_SET_OPTION] = set_option,
    [RDMA_USER_CM_CMD_NOTIFY] = notify,
    [RDMA_USER_CM_CMD_JOIN_IP_MCAST] = join_ip,
    [RDMA_USER_CM_CMD_LEAVE_MCAST] = leave,
    [RDMA_USER_CM_CMD_MIGRATE_ID] = migrate_id,
    [RDMA_USER_CM_CMD_BIND] = bind_any,
    [RDMA_USER_CM_CMD_RESOLVE_ADDR] = resolve_any,
    [RDMA_USER_CM_CMD_JOIN_MCAST] = join_any,
    [WRITE_CM_EVENT] = write_event,
};

int uc_command(struct uc_file *file, const struct rdma_ucm_cmd_hdr *hdr, const void *body,
               size_t len)
{
    union body in;
    const struct call call = {.file = file, .in = &in, .out = hdr->out};
    if (hdr->cmd >= sizeof commands / sizeof *commands)
        return -EINVAL;
    if (!commands[hdr->cmd])
        return -ENOSYS;
    memset(&in, 0, sizeof in);
    memcpy(&in, body, len < sizeof in ? len : sizeof in);
    return commands[hdr->cmd](&call);
}
