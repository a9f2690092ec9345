/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Memory, QPs and connections of random_verbs. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bulk_verbs/random_verbs.h"

enum { PORT = 1, CM_PORT = 18601, CM_MS = 9000 };

static union ibv_gid gid_of(const char *ip)
{
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};

    if (inet_pton(AF_INET, ip, gid.raw + 12) != 1 && inet_pton(AF_INET6, ip, gid.raw) != 1)
        fail("not an IP address: %s", ip);
    return gid;
}

static int gid_index(struct ibv_context *ctx, const char *ip)
{
    const union ibv_gid gid = gid_of(ip);
    struct ibv_gid_entry entry;

    for (uint32_t i = 0; i < 64; i++)
        if (ibv_query_gid_ex(ctx, PORT, i, &entry, 0) == 0 &&
            entry.gid_type == IBV_GID_TYPE_ROCE_V2 && memcmp(&entry.gid, &gid, sizeof(gid)) == 0)
            return (int)i;
    fail("no RoCEv2 GID of %s", ip);
}

static void *pages(size_t len)
{
    void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        fail("no memory");
    return at;
}

static struct ibv_mr *region_new(struct end *end, void *at, size_t len, int access)
{
    struct ibv_mr *mr = ibv_reg_mr(end->pd, at, len, access);

    if (!mr)
        fail("cannot register memory: %s", strerror(errno));
    return mr;
}

enum {
    ALL_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                 IBV_ACCESS_REMOTE_ATOMIC
};

void end_open(struct end *end)
{
    struct ibv_device **list = ibv_get_device_list(NULL);

    if (!list || !list[0])
        fail("no RDMA device");
    end->ctx = ibv_open_device(list[0]);
    if (!end->ctx)
        fail("cannot open %s", ibv_get_device_name(list[0]));
    ibv_free_device_list(list);
    fcntl(end->ctx->async_fd, F_SETFL, fcntl(end->ctx->async_fd, F_GETFL) | O_NONBLOCK);
    end->gid = gid_index(end->ctx, end->ip[end->opt.side]);
    if (end->opt.cm) /* librdmacm opens its own context of the device, and the PD of its ids must
                      * belong to that context */
        return;
    end->pd = ibv_alloc_pd(end->ctx);
}

/* Creates the CQ and registers the memory. Call it after the PD was created. */
static void memory_open(struct end *end)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = MAX_DEPTH, .max_sge = 1}};

    end->cq = ibv_create_cq(end->ctx, 4096, NULL, NULL, 0);
    if (!end->pd || !end->cq)
        fail("no PD or CQ: %s", strerror(errno));
    end->region = pages(REGION_LEN);
    end->out = pages(ARENA_LEN);
    end->in = pages(ARENA_LEN);
    end->got = pages(ARENA_LEN);
    end->slot_len = ((size_t)end->opt.size + 2 * GRH_LEN + 127) & ~(size_t)63;
    for (int i = 0; i < REGION_LEN; i++)
        end->region[i] = (uint8_t)(i * 7 + (i >> 8) + end->opt.side);
    end->mr[KEY_ALL] = region_new(end, end->region, REGION_LEN, ALL_ACCESS | IBV_ACCESS_MW_BIND);
    end->mr[KEY_READ] = region_new(end, end->region, REGION_LEN, IBV_ACCESS_REMOTE_READ);
    end->mr[KEY_WRITE] =
        region_new(end, end->region, REGION_LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    end->mr[KEY_STALE] = region_new(end, end->region, REGION_LEN, ALL_ACCESS);
    for (int i = 0; i < KEYS; i++)
        end->mine.rkey[i] = end->mr[i]->rkey;
    ibv_dereg_mr(end->mr[KEY_STALE]);
    end->mine.va = (uintptr_t)end->region;
    end->out_mr = region_new(end, end->out, ARENA_LEN, IBV_ACCESS_LOCAL_WRITE);
    end->in_mr = region_new(end, end->in, ARENA_LEN, IBV_ACCESS_LOCAL_WRITE);
    end->got_mr = region_new(end, end->got, ARENA_LEN, IBV_ACCESS_LOCAL_WRITE);
    if (end->opt.srq && !(end->srq = ibv_create_srq(end->pd, &attr)))
        fail("no SRQ: %s", strerror(errno));
    printf("region va=0x%llx rkey=0x%x read_only_rkey=0x%x write_only_rkey=0x%x "
           "deregistered_rkey=0x%x\n",
           (unsigned long long)end->mine.va, end->mine.rkey[KEY_ALL], end->mine.rkey[KEY_READ],
           end->mine.rkey[KEY_WRITE], end->mine.rkey[KEY_STALE]);
}

void end_key_renew(struct end *end)
{
    struct message message = {.kind = MESSAGE_KEY, .a = MAX_QPS};

    if (ibv_dereg_mr(end->mr[KEY_ALL])) {
        printf("dereg failed: %s\n", strerror(errno));
        return;
    }
    end->mr[KEY_ALL] = region_new(end, end->region, REGION_LEN, ALL_ACCESS | IBV_ACCESS_MW_BIND);
    end->mine.rkey[KEY_ALL] = end->mr[KEY_ALL]->rkey;
    message.b = end->mr[KEY_ALL]->rkey;
    printf("registered again rkey=0x%x\n", message.b);
    peer_send(end, &message);
}

static struct ibv_qp_init_attr queue_attr(const struct end *end)
{
    return (struct ibv_qp_init_attr){
        .send_cq = end->cq,
        .recv_cq = end->cq,
        .srq = end->srq,
        .cap = {.max_send_wr = end->opt.sq,
                .max_recv_wr = end->srq ? 0 : end->opt.rq,
                .max_send_sge = end->opt.sge,
                .max_recv_sge = 1,
                .max_inline_data = end->opt.inlined},
        .qp_type = (enum ibv_qp_type)end->opt.type,
        .sq_sig_all = end->opt.sig == 1,
    };
}

static void window_create(struct end *end, struct queue *q)
{
    if (q->mw || end->opt.weight[OP_BIND] == 0)
        return;
    q->mw = ibv_alloc_mw(end->pd, IBV_MW_TYPE_2);
    if (!q->mw)
        printf("no memory window: %s\n", strerror(errno));
}

void queue_create(struct end *end, int i)
{
    struct queue *q = &end->q[i];
    struct ibv_qp_init_attr attr;

    if (!end->cq)
        memory_open(end);
    attr = queue_attr(end);
    q->qp = ibv_create_qp(end->pd, &attr);
    if (!q->qp)
        fail("no QP: %s", strerror(errno));
    window_create(end, q);
}

void queue_to_init(struct end *end, int i)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = PORT, .qkey = QKEY, .qp_access_flags = ALL_ACCESS};
    const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                     (end->opt.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);

    if (ibv_modify_qp(end->q[i].qp, &attr, mask))
        fail("QP to INIT: %s", strerror(errno));
}

static struct ibv_ah_attr peer_address(const struct end *end)
{
    return (struct ibv_ah_attr){
        .is_global = 1,
        .grh = {.dgid = gid_of(end->ip[!end->opt.side]),
                .sgid_index = (uint8_t)end->gid,
                .hop_limit = 64},
        .port_num = PORT,
    };
}

static enum ibv_mtu mtu_code(long bytes)
{
    int code = IBV_MTU_256;

    for (; bytes > 256; bytes /= 2)
        code++;
    return (enum ibv_mtu)code;
}

static int to_rtr(const struct end *end, int i)
{
    const bool rc = end->opt.type == IBV_QPT_RC;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .ah_attr = peer_address(end),
        .path_mtu = mtu_code(end->opt.mtu),
        .dest_qp_num = end->peer.qpn[i],
        .rq_psn = end->peer.psn[i],
        .max_dest_rd_atomic = (uint8_t)end->opt.dest,
        .min_rnr_timer = (uint8_t)end->opt.minrnr,
    };
    int mask = IBV_QP_STATE;

    if (end->opt.type != IBV_QPT_UD)
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (rc)
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return ibv_modify_qp(end->q[i].qp, &attr, mask);
}

static int to_rts(const struct end *end, int i)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .sq_psn = end->mine.psn[i],
        .timeout = (uint8_t)end->opt.timeout,
        .retry_cnt = (uint8_t)end->opt.retry,
        .rnr_retry = (uint8_t)end->opt.rnr,
        .max_rd_atomic = (uint8_t)end->opt.rd,
    };
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

    if (end->opt.type == IBV_QPT_RC)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return ibv_modify_qp(end->q[i].qp, &attr, mask);
}

void queue_connect(struct end *end, int i)
{
    struct queue *q = &end->q[i];
    struct ibv_ah_attr attr = peer_address(end);

    if (to_rtr(end, i) || to_rts(end, i))
        fail("QP to RTS: %s", strerror(errno));
    if (end->opt.type == IBV_QPT_UD && !q->ah)
        q->ah = ibv_create_ah(end->pd, &attr);
    printf("qp %d qpn=0x%x psn=0x%x peer_qpn=0x%x peer_psn=0x%x\n", i, q->qp->qp_num,
           end->mine.psn[i], end->peer.qpn[i], end->peer.psn[i]);
}

void queue_move(struct queue *q, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};

    if (ibv_modify_qp(q->qp, &attr, IBV_QP_STATE))
        printf("modify to state %d: %s\n", state, strerror(errno));
}

void queue_destroy(struct queue *q)
{
    if (q->id) {
        rdma_destroy_qp(q->id);
        rdma_destroy_id(q->id);
    } else if (q->qp) {
        ibv_destroy_qp(q->qp);
    }
    if (q->ah)
        ibv_destroy_ah(q->ah);
    if (q->mw)
        ibv_dealloc_mw(q->mw);
    *q = (struct queue){0};
}

/* --- rdma_cm */

static void cm_address(const struct end *end, int side, struct sockaddr_storage *addr)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)addr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)addr;

    memset(addr, 0, sizeof(*addr));
    if (inet_pton(AF_INET, end->ip[side], &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(CM_PORT);
    } else {
        inet_pton(AF_INET6, end->ip[side], &v6->sin6_addr);
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(CM_PORT);
    }
}

/* Waits up to `ms` milliseconds for the next event. Returns the event, or NULL. The caller
 * acknowledges the event. */
static struct rdma_cm_event *cm_event(struct end *end, int ms)
{
    struct pollfd fd = {.fd = end->channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;

    if (poll(&fd, 1, ms) != 1 || rdma_get_cm_event(end->channel, &event))
        return NULL;
    printf("cm event %s status=%d\n", rdma_event_str(event->event), event->status);
    return event;
}

/* Waits for event `type` of an id. Returns true, or false after another event of this id or a
 * timeout. */
static bool cm_wait(struct end *end, struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
    const int64_t over = now_ns() + (int64_t)CM_MS * 1000000;
    struct rdma_cm_event *event;
    bool mine, good;

    while (now_ns() < over && (event = cm_event(end, CM_MS))) {
        mine = event->id == id;
        good = event->event == type;
        rdma_ack_cm_event(event);
        if (mine)
            return good;
    }
    return false;
}

static bool cm_queue(struct end *end, int i)
{
    struct queue *q = &end->q[i];
    struct ibv_qp_init_attr attr;

    if (!end->pd) {
        end->ctx = q->id->verbs;
        fcntl(end->ctx->async_fd, F_SETFL, fcntl(end->ctx->async_fd, F_GETFL) | O_NONBLOCK);
        end->pd = ibv_alloc_pd(end->ctx);
        memory_open(end);
    }
    attr = queue_attr(end);
    if (rdma_create_qp(q->id, end->pd, &attr)) {
        printf("rdma_create_qp: %s\n", strerror(errno));
        return false;
    }
    q->qp = q->id->qp;
    window_create(end, q);
    return true;
}

static struct rdma_conn_param cm_param(const struct end *end, const uint32_t *index)
{
    return (struct rdma_conn_param){
        .private_data = index,
        .private_data_len = sizeof(*index),
        .responder_resources = (uint8_t)end->opt.dest,
        .initiator_depth = (uint8_t)end->opt.rd,
        .retry_count = (uint8_t)end->opt.retry,
        .rnr_retry_count = (uint8_t)end->opt.rnr,
    };
}

static bool cm_left(struct end *end, int i)
{
    struct queue *q = &end->q[i];
    const uint32_t index = (uint32_t)i;
    struct rdma_conn_param param = cm_param(end, &index);
    struct sockaddr_storage addr;
    uint8_t timeout = (uint8_t)end->opt.timeout;

    cm_address(end, RIGHT, &addr);
    if (rdma_create_id(end->channel, &q->id, NULL, RDMA_PS_TCP) ||
        rdma_resolve_addr(q->id, NULL, (struct sockaddr *)&addr, CM_MS) ||
        !cm_wait(end, q->id, RDMA_CM_EVENT_ADDR_RESOLVED))
        return false;
    rdma_set_option(q->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout));
    if (rdma_resolve_route(q->id, CM_MS) || !cm_wait(end, q->id, RDMA_CM_EVENT_ROUTE_RESOLVED) ||
        !cm_queue(end, i))
        return false;
    return rdma_connect(q->id, &param) == 0 && cm_wait(end, q->id, RDMA_CM_EVENT_ESTABLISHED);
}

static void cm_right(struct end *end)
{
    const int64_t over = now_ns() + (int64_t)CM_MS * 1000000;
    struct rdma_cm_event *event;
    struct message message;
    struct rdma_conn_param param;
    uint32_t index;
    long open = end->opt.qps;

    /* A connection may be established at one end only, so the right end cannot count events. The
     * left end reports over TCP when it has finished. */
    while (open > 0 && now_ns() < over) {
        event = cm_event(end, 500);
        if (!event) {
            if (recv(end->sock, &message, sizeof(message), MSG_DONTWAIT | MSG_PEEK) >= 0)
                return;
            continue;
        }
        if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
            open--;
            rdma_ack_cm_event(event);
            continue;
        }
        memcpy(&index, event->param.conn.private_data, sizeof(index));
        param = cm_param(end, &index);
        if (index < MAX_QPS && !end->q[index].id) {
            end->q[index].id = event->id;
            if (index < end->opt.reject) {
                rdma_reject(event->id, &index, sizeof(index));
                open--;
            } else if (!cm_queue(end, (int)index) || rdma_accept(event->id, &param)) {
                printf("accept: %s\n", strerror(errno));
            }
        }
        rdma_ack_cm_event(event);
    }
}

void cm_listen(struct end *end)
{
    struct sockaddr_storage addr;

    end->channel = rdma_create_event_channel();
    if (!end->channel)
        fail("no rdma_cm: %s", strerror(errno));
    fcntl(end->channel->fd, F_SETFL, fcntl(end->channel->fd, F_GETFL) | O_NONBLOCK);
    cm_address(end, RIGHT, &addr);
    if (end->opt.side == RIGHT &&
        (rdma_create_id(end->channel, &end->listener, NULL, RDMA_PS_TCP) ||
         rdma_bind_addr(end->listener, (struct sockaddr *)&addr) ||
         rdma_listen(end->listener, MAX_QPS)))
        fail("rdma_listen: %s", strerror(errno));
}

void cm_connect_all(struct end *end)
{
    const struct message connected = {.kind = MESSAGE_CONNECTED};
    struct message message;

    if (end->opt.side == RIGHT) {
        cm_right(end);
        peer_wait(end, MESSAGE_CONNECTED, &message);
    } else {
        for (int i = 0; i < end->opt.qps; i++)
            if (!cm_left(end, i)) {
                printf("connection %d failed\n", i);
                end->q[i].failed = true;
            }
        peer_send(end, &connected);
    }
    for (int i = 0; i < end->opt.qps; i++)
        if (end->q[i].qp)
            printf("qp %d qpn=0x%x cm\n", i, end->q[i].qp->qp_num);
        else
            end->q[i].failed = true;
    if (!end->pd) { /* no connection was established, but the peer still expects R_Keys */
        end->pd = ibv_alloc_pd(end->ctx);
        memory_open(end);
    }
}
