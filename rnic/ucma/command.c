/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Commands of rdma/rdma_user_cm.h for ids, addresses and connections. The input of a command is
 * copied into the structure of the current ABI. Older releases of librdmacm pass shorter
 * structures, which are padded with zeros. The response is truncated to the size of the program's
 * buffer. The errors are the same as in the kernel (drivers/infiniband/core/ucma.c). */
#include "ucma/command.h"

#include <endian.h>

/* Commands that the kernel header of Debian 12 lacks; the numbers are those of Linux 6.17. */
enum { WRITE_CM_EVENT = RDMA_USER_CM_CMD_JOIN_MCAST + 2, COMMANDS };

static int to_errno(int rnic_error)
{
    switch (rnic_error) {
    case RNIC_OK: return 0;
    case RNIC_ERR_NOMEM: return -ENOMEM;
    case RNIC_ERR_EXISTS: return -EADDRINUSE;
    default: return -EINVAL;
    }
}

/* ---- commands for ids ------------------------------------------------------------------------ */

static int create_id(const struct uc_call *call)
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
    int result = uc_answer(call, in->response, &resp, sizeof resp);
    if (result < 0)
        uc_id_del(id);
    return result;
}

static int destroy_id(const struct uc_call *call)
{
    const struct rdma_ucm_destroy_id *in = &call->in->destroy_id;
    struct rdma_ucm_destroy_id_resp resp = {.events_reported = 0};
    struct uc_id *id = uc_id_get(call->file, in->id);
    if (call->file->inherited) /* a child of fork() destroys only its copy of the id, which belongs
                                * to the parent */
        return uc_answer(call, in->response, &resp, sizeof resp);
    if (!id)
        return -ENOENT;
    uc_wait_for_reader(id);
    id = uc_id_get(call->file, in->id);
    if (!id)
        return -ENOENT;
    resp.events_reported = id->reported;
    uc_id_del(id);
    return uc_answer(call, in->response, &resp, sizeof resp);
}

static int migrate_id(const struct uc_call *call)
{
    const struct rdma_ucm_migrate_id *in = &call->in->migrate_id;
    struct uc_file *from = uc_file_of((int)in->fd);
    struct uc_id *id = from ? uc_id_get(from, in->id) : NULL;
    if (!id)
        return -ENOENT;
    if (from != call->file)
        uc_move_events(id, call->file);
    const struct rdma_ucm_migrate_resp resp = {.events_reported = id->reported};
    return uc_answer(call, in->response, &resp, sizeof resp);
}

static int set_option(const struct uc_call *call)
{
    const struct rdma_ucm_set_option *in = &call->in->set_option;
    struct uc_id *id = uc_id_get(call->file, in->id);
    const void *value = (const void *)(uintptr_t)in->optval;
    if (!id)
        return -ENOENT;
    if (in->level != RDMA_OPTION_ID)
        return -ENOSYS; /* options of other levels set path records from a subnet manager, which
                         * RoCE does not have */
    switch (in->optname) {
    case RDMA_OPTION_ID_TOS:
        if (in->optlen != sizeof id->tos)
            return -EINVAL;
        id->tos = *(const uint8_t *)value;
        return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
        if (in->optlen != sizeof id->ack_timeout || uc_is_ud(id))
            return -EINVAL;
        id->ack_timeout = *(const uint8_t *)value & 31;
        return 0;
    case RDMA_OPTION_ID_REUSEADDR:
        if (in->optlen != sizeof(int) || id->state == UC_LISTEN ||
            (id->state != UC_IDLE && !*(const int *)value))
            return -EINVAL;
        id->reuse = *(const int *)value != 0;
        return 0;
    case RDMA_OPTION_ID_AFONLY:
        if (in->optlen != sizeof(int) || (id->state != UC_IDLE && id->state != UC_BOUND))
            return -EINVAL;
        id->afonly = *(const int *)value != 0;
        return 0;
    default: return -ENOSYS;
    }
}

/* ---- commands for addresses ------------------------------------------------------------------ */

static int bind_id(const struct uc_call *call, uint32_t handle, const void *from, size_t len)
{
    struct uc_id *id = uc_id_get(call->file, handle);
    union uc_addr addr;
    if (!id)
        return -ENOENT;
    uc_addr_from(&addr, from, len);
    return uc_bind(id, &addr);
}

static int bind_ip(const struct uc_call *call)
{
    const struct rdma_ucm_bind_ip *in = &call->in->bind_ip;
    return bind_id(call, in->id, &in->addr, sizeof in->addr);
}

static int bind_any(const struct uc_call *call)
{
    const struct rdma_ucm_bind *in = &call->in->bind;
    return bind_id(call, in->id, &in->addr, in->addr_size);
}

static int start_resolve_addr(const struct uc_call *call, uint32_t handle, const void *src,
                              size_t src_len, const void *dst, size_t dst_len, uint32_t timeout_ms)
{
    struct uc_id *id = uc_id_get(call->file, handle);
    union uc_addr from, to;
    uint8_t gid[16];
    if (!id)
        return -ENOENT;
    uc_addr_from(&from, src, src_len);
    uc_addr_from(&to, dst, dst_len);
    if (!uc_gid_of(&to, gid))
        return -EAFNOSUPPORT;
    if ((id->state != UC_IDLE && id->state != UC_BOUND) || id->job != UC_NO_JOB)
        return -EINVAL;
    if (id->state == UC_IDLE && uc_gid_of(&from, gid)) {
        int result = uc_bind(id, &from);
        if (result < 0)
            return result;
    }
    if (id->state == UC_BOUND && id->src.sa.sa_family != to.sa.sa_family)
        return -EINVAL;
    if (uc_is_unreachable(id, &to))
        return -ENETUNREACH;
    id->dst = to;
    id->job = UC_RESOLVE_ADDR;
    id->job_due = id->ask_due = rnic_live_now();
    id->job_end = id->job_due + (uint64_t)(timeout_ms ? timeout_ms : 1) * 1000000u;
    uc_worker_wake();
    return 0;
}

static int resolve_ip(const struct uc_call *call)
{
    const struct rdma_ucm_resolve_ip *in = &call->in->resolve_ip;
    return start_resolve_addr(call, in->id, &in->src_addr, sizeof in->src_addr, &in->dst_addr,
                              sizeof in->dst_addr, in->timeout_ms);
}

static int resolve_any(const struct uc_call *call)
{
    const struct rdma_ucm_resolve_addr *in = &call->in->resolve_addr;
    return start_resolve_addr(call, in->id, &in->src_addr, in->src_size, &in->dst_addr,
                              in->dst_size, in->timeout_ms);
}

static int resolve_route(const struct uc_call *call)
{
    struct uc_id *id = uc_id_get(call->file, call->in->resolve_route.id);
    if (!id)
        return -ENOENT;
    if (id->state != UC_ADDR || id->job != UC_NO_JOB)
        return -EINVAL;
    id->job = UC_RESOLVE_ROUTE;
    id->job_due = 0;
    uc_worker_wake();
    return 0;
}

static int query_route(const struct uc_call *call)
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
    return uc_answer(call, in->response, &resp, sizeof resp);
}

/* ---- commands for connections ---------------------------------------------------------------- */

static int listen_id(const struct uc_call *call)
{
    struct uc_id *id = uc_id_get(call->file, call->in->listen.id);
    if (!id)
        return -ENOENT;
    int result = uc_listen(id, call->in->listen.backlog);
    uc_worker_wake(); /* A request may be waiting for this listener: wake the worker, which delivers
                       * it. */
    return result;
}

static struct rnic_cm_param conn_param_of(const struct uc_id *id,
                                          const struct rdma_ucm_conn_param *conn)
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

static int connect_id(const struct uc_call *call)
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
    if (uc_is_ud(id)) {
        struct roce_cm_sidr_req req;
        result = rnic_cm_make_sidr_req(&req, &ip, in->conn_param.private_data,
                                       in->conn_param.private_data_len);
        if (result == 0)
            result = rnic_cm_sidr_request(id->cm, &req, path.cm_timeout, path.max_cm_retries,
                                          &id->addr, rnic_live_now());
    } else {
        const struct rnic_cm_param param = conn_param_of(id, &in->conn_param);
        struct roce_cm_req req;
        result = rnic_cm_make_req(&req, &param, &path, &ip, &id->addr, uc_port_guid(id->port));
        if (result == 0)
            result = rnic_cm_connect(id->cm, &req, &id->addr, rnic_live_now());
    }
    if (result == 0) {
        id->state = UC_CONNECT;
    } else {
        rnic_cm_id_del(id->cm, rnic_live_now());
        id->cm = NULL;
    }
    uc_worker_wake();
    return to_errno(result);
}

/* Rejects the connection request of an id. Returns 0 or an error of enum rnic_error. */
static int reject(struct uc_id *id, uint8_t reason, const void *data, size_t len)
{
    if (!uc_is_ud(id))
        return rnic_cm_reject(id->cm, reason ? reason : ROCE_CM_REJ_CONSUMER, data, len,
                              rnic_live_now());
    struct roce_cm_sidr_rep rep = {.status = 2}; /* status 2: rejected by the service provider
                                                  * (table 120) */
    if (len > sizeof rep.private_data)
        return RNIC_ERR_INVALID;
    if (len)
        memcpy(rep.private_data, data, len);
    return rnic_cm_sidr_reply(id->cm, &rep, rnic_live_now());
}

static int accept_id(const struct uc_call *call)
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
        result = rnic_cm_establish(id->cm, NULL, 0, rnic_live_now());
    } else if (uc_is_ud(id)) {
        struct roce_cm_sidr_rep rep = {
            .qpn = in->conn_param.qp_num & 0xFFFFFF,
            .qkey = in->conn_param.qkey ? in->conn_param.qkey : UCMA_UDP_QKEY,
            .service_id = roce_cm_sid((enum roce_cm_port_space)id->space, uc_addr_port(&id->src)),
        };
        size_t len = in->conn_param.private_data_len;
        result = RNIC_ERR_INVALID;
        if (len <= sizeof rep.private_data) {
            memcpy(rep.private_data, in->conn_param.private_data, len);
            result = rnic_cm_sidr_reply(id->cm, &rep, rnic_live_now());
        }
    } else {
        const struct rnic_cm_param param = conn_param_of(id, &in->conn_param);
        struct roce_cm_rep rep;
        result = rnic_cm_make_rep(&rep, &param, &path, uc_port_guid(id->port));
        if (result == 0)
            result = rnic_cm_accept(id->cm, &rep, rnic_live_now());
    }
    if (result != 0)
        reject(id, 0, NULL, 0); /* reject the request, because the peer waits for an answer
                                 * (core/cma.c, rdma_accept) */
    else if (in->conn_param.valid)
        id->uid = in->uid;
    uc_worker_wake();
    return to_errno(result);
}

static int reject_id(const struct uc_call *call)
{
    const struct rdma_ucm_reject *in = &call->in->reject;
    struct uc_id *id = uc_id_get(call->file, in->id);
    if (!id)
        return -ENOENT;
    if (!id->cm)
        return -EINVAL;
    int result = reject(id, in->reason, in->private_data, in->private_data_len);
    uc_worker_wake();
    return to_errno(result);
}

static int disconnect_id(const struct uc_call *call)
{
    struct uc_id *id = uc_id_get(call->file, call->in->disconnect.id);
    if (!id)
        return -ENOENT;
    if (!id->cm)
        return -EINVAL;
    rnic_cm_disconnect(id->cm, NULL, 0, rnic_live_now()); /* ignore an error, because a program is
                                                           * allowed to disconnect twice */
    uc_worker_wake();
    return 0;
}

static int notify_id(const struct uc_call *call)
{
    const struct rdma_ucm_notify *in = &call->in->notify;
    struct uc_id *id = uc_id_get(call->file, in->id);
    if (!id)
        return -ENOENT;
    if (!id->cm)
        return -EINVAL;
    int result =
        in->event == IBV_EVENT_COMM_EST ? rnic_cm_comm_est(id->cm, rnic_live_now()) : RNIC_OK;
    uc_deliver_cm_events(id->port);
    /* -EISCONN as in Linux (core/cm.c, cm_establish) */
    return result == RNIC_ERR_EXISTS ? -EISCONN : to_errno(result);
}

/* ---- table of commands ----------------------------------------------------------------------- */

static int get_event(const struct uc_call *call)
{
    struct rdma_ucm_event_resp resp;
    if (!call->in->get_event.response || call->out < offsetof(struct rdma_ucm_event_resp, reserved))
        return -ENOSPC;
    int result = uc_get_event(call->file, &resp);
    return result < 0 ? result : uc_answer(call, call->in->get_event.response, &resp, sizeof resp);
}

/* Queues an event that the program itself supplies (command WRITE_CM_EVENT) in the channel of an
 * id. */
static int write_event(const struct uc_call *call)
{
    const struct uc_write_event *in = &call->in->write_event;
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

/* The function of each command. RDMA_USER_CM_CMD_RESOLVE_IB_SERVICE has no function, because that
 * command needs a subnet administrator. */
static int (*const commands[COMMANDS])(const struct uc_call *call) = {
    [RDMA_USER_CM_CMD_CREATE_ID] = create_id,
    [RDMA_USER_CM_CMD_DESTROY_ID] = destroy_id,
    [RDMA_USER_CM_CMD_BIND_IP] = bind_ip,
    [RDMA_USER_CM_CMD_RESOLVE_IP] = resolve_ip,
    [RDMA_USER_CM_CMD_RESOLVE_ROUTE] = resolve_route,
    [RDMA_USER_CM_CMD_QUERY_ROUTE] = query_route,
    [RDMA_USER_CM_CMD_CONNECT] = connect_id,
    [RDMA_USER_CM_CMD_LISTEN] = listen_id,
    [RDMA_USER_CM_CMD_ACCEPT] = accept_id,
    [RDMA_USER_CM_CMD_REJECT] = reject_id,
    [RDMA_USER_CM_CMD_DISCONNECT] = disconnect_id,
    [RDMA_USER_CM_CMD_INIT_QP_ATTR] = uc_init_qp_attr,
    [RDMA_USER_CM_CMD_GET_EVENT] = get_event,
    [RDMA_USER_CM_CMD_SET_OPTION] = set_option,
    [RDMA_USER_CM_CMD_NOTIFY] = notify_id,
    [RDMA_USER_CM_CMD_JOIN_IP_MCAST] = uc_join_ip,
    [RDMA_USER_CM_CMD_LEAVE_MCAST] = uc_leave,
    [RDMA_USER_CM_CMD_MIGRATE_ID] = migrate_id,
    [RDMA_USER_CM_CMD_BIND] = bind_any,
    [RDMA_USER_CM_CMD_RESOLVE_ADDR] = resolve_any,
    [RDMA_USER_CM_CMD_JOIN_MCAST] = uc_join_any,
    [WRITE_CM_EVENT] = write_event,
};

int uc_command(struct uc_file *file, const struct rdma_ucm_cmd_hdr *hdr, const void *body,
               size_t len)
{
    union uc_body in;
    const struct uc_call call = {.file = file, .in = &in, .out = hdr->out};
    if (hdr->cmd >= sizeof commands / sizeof *commands)
        return -EINVAL;
    if (!commands[hdr->cmd])
        return -ENOSYS;
    memset(&in, 0, sizeof in);
    memcpy(&in, body, len < sizeof in ? len : sizeof in);
    return commands[hdr->cmd](&call);
}
