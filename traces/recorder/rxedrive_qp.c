/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Devices, queue pairs and connections of rxedrive. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "recorder/rxedrive.h"

enum {
    PORT = 1,
    CM_PORT = 18515,    /* rdma_cm service port */
    CM_EVENT_MS = 2000, /* timeout of resolving an address or a route, ms */
};

static const char private_data[] = "RoCEdrill";

/* Converts an IP address to a GID; IPv4 in mapped form. */
static union ibv_gid gid_of(const char *ip)
{
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};

    if (inet_pton(AF_INET, ip, gid.raw + 12) != 1 && inet_pton(AF_INET6, ip, gid.raw) != 1)
        fatal("not an IP address: %s", ip);
    return gid;
}

static int gid_index(struct ibv_context *ctx, const union ibv_gid *gid)
{
    struct ibv_gid_entry entry;

    for (uint32_t i = 0; i < 64; i++) {
        if (ibv_query_gid_ex(ctx, PORT, i, &entry, 0) == 0 &&
            entry.gid_type == IBV_GID_TYPE_ROCE_V2 && memcmp(&entry.gid, gid, sizeof(*gid)) == 0)
            return i;
    }
    fatal("the device has no RoCEv2 GID of that address");
}

static enum ibv_mtu mtu_code(int bytes)
{
    enum ibv_mtu code = IBV_MTU_256;

    for (; bytes > 256; bytes /= 2)
        code++;
    return code;
}

static uint32_t first_psn(const struct rig *rig, int side, int qp)
{
    return (rig->opt.psn[side] + qp * 0x1000) & 0xffffff;
}

/* Creates protection domain, completion queue and memory regions. */
static void open_memory(struct rig *rig)
{
    const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                    IBV_ACCESS_REMOTE_ATOMIC;
    int extra = IBV_ACCESS_MW_BIND;

#ifdef RXEDRIVE_FLUSH
    if (rig->opt.extended)
        extra |= IBV_ACCESS_FLUSH_GLOBAL;
#endif
    rig->pd = ibv_alloc_pd(rig->ctx);
    rig->cq = ibv_create_cq(rig->ctx, 4 * QUEUE_DEPTH, NULL, NULL, 0);
    rig->region = mmap(NULL, REGION_LEN + ARENA_LEN, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (!rig->pd || !rig->cq || rig->region == MAP_FAILED)
        fatal("no PD, CQ or memory: %s", strerror(errno));
    rig->arena = rig->region + REGION_LEN;
    rig->mr[KEY_ALL] = ibv_reg_mr(rig->pd, rig->region, REGION_LEN, all | extra);
    rig->mr[KEY_READONLY] = ibv_reg_mr(rig->pd, rig->region, REGION_LEN, IBV_ACCESS_REMOTE_READ);
    rig->mr[KEY_WRITEONLY] = ibv_reg_mr(rig->pd, rig->region, REGION_LEN,
                                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    rig->arena_mr = ibv_reg_mr(rig->pd, rig->arena, ARENA_LEN, IBV_ACCESS_LOCAL_WRITE);
    if (!rig->mr[KEY_ALL] || !rig->mr[KEY_READONLY] || !rig->mr[KEY_WRITEONLY] || !rig->arena_mr)
        fatal("cannot register memory: %s", strerror(errno));
    if (rig->opt.srq) {
        struct ibv_srq_init_attr attr = {.attr = {.max_wr = QUEUE_DEPTH, .max_sge = 1}};

        rig->srq = ibv_create_srq(rig->pd, &attr);
        if (!rig->srq)
            fatal("no SRQ: %s", strerror(errno));
    }
}

static struct ibv_qp_init_attr qp_init_attr(const struct rig *rig)
{
    return (struct ibv_qp_init_attr){
        .send_cq = rig->cq,
        .recv_cq = rig->cq,
        .srq = rig->srq,
        .cap = {.max_send_wr = QUEUE_DEPTH,
                .max_recv_wr = rig->srq ? 0 : QUEUE_DEPTH,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = rig->opt.type,
        .sq_sig_all = 1,
    };
}

static struct ibv_qp *qp_new(struct rig *rig)
{
    struct ibv_qp_init_attr attr = qp_init_attr(rig);
    struct ibv_qp *qp;

    if (!rig->opt.extended) {
        qp = ibv_create_qp(rig->pd, &attr);
    } else {
        struct ibv_qp_init_attr_ex ex = {
            .send_cq = attr.send_cq,
            .recv_cq = attr.recv_cq,
            .srq = attr.srq,
            .cap = attr.cap,
            .qp_type = attr.qp_type,
            .sq_sig_all = attr.sq_sig_all,
            .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
            .pd = rig->pd,
            .send_ops_flags =
                IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
        };

#ifdef RXEDRIVE_FLUSH
        ex.send_ops_flags |= IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE;
#endif
        qp = ibv_create_qp_ex(rig->ctx, &ex);
    }
    if (!qp)
        fatal("no QP: %s", strerror(errno));
    return qp;
}

static struct ibv_ah_attr way_to(const struct rig *rig, const union ibv_gid *gid)
{
    return (struct ibv_ah_attr){
        .is_global = 1,
        .port_num = PORT,
        .grh = {.dgid = *gid,
                .sgid_index = gid_index(rig->ctx, &rig->mine.gid),
                .hop_limit = 64,
                .traffic_class = rig->opt.tclass},
    };
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    int error = ibv_modify_qp(qp, attr, mask);

    if (error)
        fatal("QP to state %d: %s", attr->qp_state, strerror(error));
}

static void qp_init(struct rig *rig, struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = PORT,
        .qkey = UD_QKEY,
        .qp_access_flags =
            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
    };

#ifdef RXEDRIVE_FLUSH
    if (rig->opt.extended)
        attr.qp_access_flags |= IBV_ACCESS_FLUSH_GLOBAL;
#endif
    modify(qp, &attr,
           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
               (rig->opt.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

/* Moves a QP from INIT to RTS, connected to the peer's QP of the same index. */
static void qp_connect(struct rig *rig, int index)
{
    const struct options *opt = &rig->opt;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .ah_attr = way_to(rig, &rig->peer.gid),
        .path_mtu = mtu_code(opt->mtu),
        .dest_qp_num = rig->peer.qpn[index],
        .rq_psn = first_psn(rig, !opt->me, index),
        .sq_psn = first_psn(rig, opt->me, index),
        .max_dest_rd_atomic = opt->rd_atomic,
        .max_rd_atomic = opt->rd_atomic,
        .min_rnr_timer = opt->min_rnr,
        .timeout = opt->timeout,
        .retry_cnt = opt->retry,
        .rnr_retry = opt->rnr_retry,
    };
    int rtr = IBV_QP_STATE, rts = IBV_QP_STATE | IBV_QP_SQ_PSN;

    if (opt->type != IBV_QPT_UD)
        rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (opt->type == IBV_QPT_RC) {
        rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    modify(rig->qp[index], &attr, rtr);
    attr.qp_state = IBV_QPS_RTS;
    modify(rig->qp[index], &attr, rts);
}

/* Joins the multicast group also in the IP stack; otherwise the device receives no packets of the
 * group. */
static void join_group(struct rig *rig, const union ibv_gid *group)
{
    int fd, failed;

    if (inet_addr(rig->opt.group) != INADDR_NONE) {
        struct ip_mreqn request = {.imr_multiaddr.s_addr = inet_addr(rig->opt.group),
                                   .imr_address.s_addr = inet_addr(rig->opt.ip[RIGHT])};

        fd = socket(AF_INET, SOCK_DGRAM, 0);
        failed = setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request));
    } else {
        struct ipv6_mreq request = {.ipv6mr_interface = if_nametoindex("eth0")};

        memcpy(&request.ipv6mr_multiaddr, group->raw, sizeof(group->raw));
        fd = socket(AF_INET6, SOCK_DGRAM, 0);
        failed = setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request));
    }
    if (failed)
        fatal("cannot join %s: %s", rig->opt.group, strerror(errno));
    failed = ibv_attach_mcast(rig->qp[0], group, 0);
    if (failed)
        fatal("cannot attach the QP to %s: %s", rig->opt.group, strerror(failed));
}

/* Creates the address handle for datagrams: to the group (on the left side, if there is a group),
 * or to the other side. */
static void open_ah(struct rig *rig)
{
    union ibv_gid to = rig->peer.gid, group;
    struct ibv_ah_attr attr;

    if (rig->opt.group) {
        group = gid_of(rig->opt.group);
        if (rig->opt.me == RIGHT)
            join_group(rig, &group);
        else
            to = group;
    }
    attr = way_to(rig, &to);
    rig->ah = ibv_create_ah(rig->pd, &attr);
    if (!rig->ah)
        fatal("no address handle: %s", strerror(errno));
}

static void tell_endpoint(struct rig *rig)
{
    struct endpoint *mine = &rig->mine, *peer = &rig->peer;

    mine->va = (uintptr_t)rig->region;
    for (int i = 0; i < rig->opt.qps; i++)
        mine->qpn[i] = rig->qp[i]->qp_num;
    for (int key = KEY_ALL; key <= KEY_WRITEONLY; key++)
        mine->rkey[key] = rig->mr[key]->rkey;
    mine->rkey[KEY_WRONG] = rig->mr[KEY_ALL]->rkey ^ 0xff;
    peer_exchange(rig, mine, peer, sizeof(*mine));

    printf("region va 0x%llx length %d rkey 0x%x read-only 0x%x write-only 0x%x\n",
           (unsigned long long)mine->va, REGION_LEN, mine->rkey[KEY_ALL], mine->rkey[KEY_READONLY],
           mine->rkey[KEY_WRITEONLY]);
    for (int i = 0; i < rig->opt.qps; i++)
        printf("qp %d qpn 0x%06x remote 0x%06x\n", i, mine->qpn[i], peer->qpn[i]);
}

/* --- rdma_cm */

static struct rdma_cm_event *cm_event(struct rig *rig, enum rdma_cm_event_type want)
{
    struct rdma_cm_event *event;

    if (rdma_get_cm_event(rig->channel, &event))
        fatal("rdma_cm: %s", strerror(errno));
    printf("cm event %s status %d\n", rdma_event_str(event->event), event->status);
    if (event->event != want)
        fatal("rdma_cm: wanted %s", rdma_event_str(want));
    return event;
}

static void cm_address(const char *ip, struct sockaddr_storage *addr)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *info;
    char port[8];

    snprintf(port, sizeof(port), "%d", CM_PORT);
    if (getaddrinfo(ip, port, &hints, &info))
        fatal("not an IP address: %s", ip);
    memcpy(addr, info->ai_addr, info->ai_addrlen);
    freeaddrinfo(info);
}

static void cm_qp(struct rig *rig)
{
    struct ibv_qp_init_attr attr = qp_init_attr(rig);

    if (rdma_create_qp(rig->id, rig->pd, &attr))
        fatal("no QP: %s", strerror(errno));
    rig->qp[0] = rig->id->qp;
}

static struct rdma_conn_param cm_param(const struct rig *rig)
{
    return (struct rdma_conn_param){
        .private_data = private_data,
        .private_data_len = sizeof(private_data),
        .responder_resources = rig->opt.rd_atomic,
        .initiator_depth = rig->opt.rd_atomic,
        .retry_count = rig->opt.retry,
        .rnr_retry_count = rig->opt.rnr_retry,
    };
}

static void cm_connect_left(struct rig *rig, struct sockaddr *to)
{
    struct rdma_conn_param param = cm_param(rig);

    if (rdma_create_id(rig->channel, &rig->id, NULL, RDMA_PS_TCP) ||
        rdma_resolve_addr(rig->id, NULL, to, CM_EVENT_MS))
        fatal("rdma_cm address: %s", strerror(errno));
    rdma_ack_cm_event(cm_event(rig, RDMA_CM_EVENT_ADDR_RESOLVED));
    if (rdma_resolve_route(rig->id, CM_EVENT_MS))
        fatal("rdma_cm route: %s", strerror(errno));
    rdma_ack_cm_event(cm_event(rig, RDMA_CM_EVENT_ROUTE_RESOLVED));
    rig->ctx = rig->id->verbs;
    open_memory(rig);
    cm_qp(rig);
    peer_meet(rig, 0); /* right listens */
    if (rdma_connect(rig->id, &param))
        fatal("rdma_connect: %s", strerror(errno));
    rdma_ack_cm_event(cm_event(rig, rig->opt.cm == CM_REJECT ? RDMA_CM_EVENT_REJECTED
                                                             : RDMA_CM_EVENT_ESTABLISHED));
}

static void cm_connect_right(struct rig *rig, struct sockaddr *at)
{
    struct rdma_conn_param param = cm_param(rig);
    struct rdma_cm_event *event;

    if (rdma_create_id(rig->channel, &rig->listener, NULL, RDMA_PS_TCP) ||
        rdma_bind_addr(rig->listener, at) || rdma_listen(rig->listener, 1))
        fatal("rdma_cm listen: %s", strerror(errno));
    peer_meet(rig, 0);
    event = cm_event(rig, RDMA_CM_EVENT_CONNECT_REQUEST);
    rig->id = event->id;
    rdma_ack_cm_event(event);
    rig->ctx = rig->id->verbs;
    open_memory(rig);
    if (rig->opt.cm == CM_REJECT) {
        if (rdma_reject(rig->id, private_data, sizeof(private_data)))
            fatal("rdma_reject: %s", strerror(errno));
        return;
    }
    cm_qp(rig);
    if (rdma_accept(rig->id, &param))
        fatal("rdma_accept: %s", strerror(errno));
    rdma_ack_cm_event(cm_event(rig, RDMA_CM_EVENT_ESTABLISHED));
}

static void cm_connect(struct rig *rig)
{
    struct sockaddr_storage addr;

    rig->channel = rdma_create_event_channel();
    if (!rig->channel)
        fatal("no rdma_cm: %s", strerror(errno));
    cm_address(rig->opt.ip[RIGHT], &addr);
    if (rig->opt.me == LEFT)
        cm_connect_left(rig, (struct sockaddr *)&addr);
    else
        cm_connect_right(rig, (struct sockaddr *)&addr);
}

/* --- functions for rxedrive.c */

static void open_device(struct rig *rig)
{
    struct ibv_device **list = ibv_get_device_list(NULL);

    if (!list || !list[0])
        fatal("no RDMA device");
    rig->ctx = ibv_open_device(list[0]);
    if (!rig->ctx)
        fatal("cannot open %s", ibv_get_device_name(list[0]));
    ibv_free_device_list(list);
}

void rig_connect(struct rig *rig)
{
    rig->mine.gid = gid_of(rig->opt.ip[rig->opt.me]);
    if (rig->opt.cm != CM_NONE) {
        cm_connect(rig);
        if (rig->opt.cm == CM_ACCEPT)
            tell_endpoint(rig);
        return;
    }
    open_device(rig);
    open_memory(rig);
    for (int i = 0; i < rig->opt.qps; i++) {
        rig->qp[i] = qp_new(rig);
        qp_init(rig, rig->qp[i]);
    }
    tell_endpoint(rig);
    for (int i = 0; i < rig->opt.qps; i++)
        qp_connect(rig, i);
    if (rig->opt.type == IBV_QPT_UD)
        open_ah(rig);
}

void rig_disconnect(struct rig *rig)
{
    if (rig->opt.cm != CM_ACCEPT || !rig->opt.disconnect)
        return;
    if (rig->opt.me == LEFT && rdma_disconnect(rig->id))
        fatal("rdma_disconnect: %s", strerror(errno));
    rdma_ack_cm_event(cm_event(rig, RDMA_CM_EVENT_DISCONNECTED));
    if (rig->opt.me == RIGHT)
        rdma_disconnect(rig->id);
}

void rig_report_events(struct rig *rig)
{
    struct ibv_async_event event;

    if (!rig->ctx)
        return;
    fcntl(rig->ctx->async_fd, F_SETFL, fcntl(rig->ctx->async_fd, F_GETFL) | O_NONBLOCK);
    while (ibv_get_async_event(rig->ctx, &event) == 0) {
        printf("async event: %s\n", ibv_event_type_str(event.event_type));
        ibv_ack_async_event(&event);
    }
}

/* Creates and destroys QPs, so that the two ends of a connection have different QPNs. */
void rig_spend_qpns(int n)
{
    struct rig rig = {.opt = {.type = IBV_QPT_RC}};

    open_device(&rig);
    open_memory(&rig);
    while (n-- > 0)
        ibv_destroy_qp(qp_new(&rig));
}

bool qp_to_error(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    return ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0;
}
