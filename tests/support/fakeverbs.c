/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "fakeverbs.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* verbs.h defines macros with these names, so undefine them before the functions are defined. */
#undef ibv_query_port
#undef ibv_reg_mr

#define WCS 16384u
#define MRS 32768u

static struct ibv_device device = {.name = FAKEVERBS_DEVICE};
static struct ibv_device *list[] = {&device, NULL};
static unsigned live, next_number;
static bool failing;

/* registered regions */
static struct ibv_mr *mrs[MRS];
static unsigned mr_cnt;

/* `event_pipe` is readable while an asynchronous event is pending, which `event_type` and
 * `event_qpn` describe. `qps`: existing QPs. */
static int event_pipe[2] = {-1, -1};
static enum ibv_event_type event_type;
static unsigned event_qpn;
static struct ibv_qp *qps[16];
static unsigned qp_cnt;

/* `armed`: CQ for which a notification was requested. `notifying`: CQ whose notification was not
 * fetched yet. Both may be NULL. */
static struct ibv_cq *armed, *notifying;

static void set_object_ops(struct ibv_context *ctx);

/* `wc`: completions in the order in which they are polled. `waiting`: posted receives. */
static struct ibv_wc wc[WCS];
static unsigned wc_cnt;
static struct waiting {
    uint64_t wr_id;
    struct ibv_sge sge;
    uint32_t qpn;
} waiting[WCS];
static unsigned waiting_cnt;

unsigned fakeverbs_live(void)
{
    return live;
}

void fakeverbs_fail(bool next)
{
    failing = next;
}

static bool fails(void)
{
    bool was = failing;

    failing = false;
    if (was)
        errno = ENOMEM;
    return was;
}

static void *make(size_t size)
{
    void *p = fails() ? NULL : calloc(1, size);

    live += p != NULL;
    return p;
}

static int unmake(void *p)
{
    free(p);
    live--;
    return 0;
}

/* ---- functions of the device ----------------------------------------------------------------- */

struct ibv_device **ibv_get_device_list(int *cnt)
{
    if (cnt)
        *cnt = 1;
    return list;
}

void ibv_free_device_list(struct ibv_device **devices)
{
    (void)devices;
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
    return dev->name;
}

static int poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *out)
{
    unsigned cnt = max > 0 && (unsigned)max < wc_cnt ? (unsigned)max : wc_cnt;

    (void)cq;
    memcpy(out, wc, cnt * sizeof(*out));
    memmove(wc, wc + cnt, (wc_cnt - cnt) * sizeof(*wc));
    wc_cnt -= cnt;
    return (int)cnt;
}

/* Returns whether a buffer is inside the region with its L_Key. Needed because clients of the agent
 * can name any address. */
static bool is_registered(const struct ibv_sge *sge)
{
    for (unsigned i = 0; i < mr_cnt; i++) {
        uint64_t start = (uintptr_t)mrs[i]->addr;

        if (mrs[i]->lkey == sge->lkey && sge->addr >= start &&
            sge->addr - start <= mrs[i]->length &&
            sge->length <= mrs[i]->length - (sge->addr - start))
            return true;
    }
    return sge->length == 0;
}

static void complete(uint64_t wr_id, uint32_t qpn, enum ibv_wc_opcode opcode, uint32_t len)
{
    if (wc_cnt == WCS)
        return;
    if (armed && eventfd_write(armed->channel->fd, 1) == 0) {
        notifying = armed;
        armed = NULL;
    }
    wc[wc_cnt++] = (struct ibv_wc){.wr_id = wr_id,
                                   .qp_num = qpn,
                                   .opcode = opcode,
                                   .byte_len = len,
                                   .wc_flags = opcode == IBV_WC_RECV ? 0 : IBV_WC_WITH_IMM};
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    *bad = wr;
    if (fails() || waiting_cnt == WCS)
        return ENOMEM;
    waiting[waiting_cnt++] =
        (struct waiting){wr->wr_id, wr->num_sge ? wr->sg_list[0] : (struct ibv_sge){0}, qp->qp_num};
    return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct ibv_sge sge = wr->num_sge ? wr->sg_list[0] : (struct ibv_sge){0};
    bool write = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    bool sends = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM ||
                 wr->opcode == IBV_WR_SEND_WITH_INV;

    *bad = wr;
    if (fails())
        return ENOMEM;
    complete(wr->wr_id, qp->qp_num, IBV_WC_SEND, 0);
    if (!(wr->send_flags & IBV_SEND_INLINE) && !is_registered(&sge)) {
        if (wc_cnt > 0)
            wc[wc_cnt - 1].status = IBV_WC_LOC_PROT_ERR;
        return 0;
    }
    if ((sends || write) && waiting_cnt > 0) {
        struct waiting first = waiting[0];

        if (sends && first.sge.length && is_registered(&first.sge))
            memcpy((void *)(uintptr_t)first.sge.addr, (void *)(uintptr_t)sge.addr,
                   sge.length < first.sge.length ? sge.length : first.sge.length);
        complete(first.wr_id, first.qpn, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
                 sge.length);
        memmove(waiting, waiting + 1, --waiting_cnt * sizeof(*waiting));
    }
    return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
    struct ibv_context *ctx = make(sizeof(*ctx));

    if (!ctx)
        return NULL;
    ctx->device = dev;
    ctx->ops.poll_cq = poll_cq;
    ctx->ops.post_send = post_send;
    ctx->ops.post_recv = post_recv;
    set_object_ops(ctx);
    wc_cnt = waiting_cnt = 0;
    if (pipe(event_pipe) != 0)
        abort();
    ctx->async_fd = event_pipe[0];
    return ctx;
}

int ibv_close_device(struct ibv_context *ctx)
{
    close(event_pipe[0]);
    close(event_pipe[1]);
    return unmake(ctx);
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
    (void)ctx;
    *attr = (struct ibv_device_attr){
        .max_cqe = 1 << 16, .max_qp_rd_atom = 16, .atomic_cap = IBV_ATOMIC_HCA};
    return 0;
}

int ibv_query_port(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *compat)
{
    struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;

    (void)ctx;
    (void)port;
    attr->state = IBV_PORT_ACTIVE;
    attr->active_mtu = IBV_MTU_4096;
    attr->gid_tbl_len = 2;
    attr->pkey_tbl_len = 1;
    return 0;
}

int _ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    (void)ctx;
    (void)flags;
    (void)size;
    *entry = (struct ibv_gid_entry){
        .gid_index = index, .port_num = port, .gid_type = IBV_GID_TYPE_ROCE_V2};
    entry->gid.raw[10] = entry->gid.raw[11] = 0xFF;
    entry->gid.raw[15] = (uint8_t)(index + 1);
    return 0;
}

/* ---- creating and destroying objects --------------------------------------------------------- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
    struct ibv_pd *pd = make(sizeof(*pd));

    if (pd)
        pd->context = ctx;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    return unmake(pd);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *user,
                             struct ibv_comp_channel *channel, int vector)
{
    struct ibv_cq *cq = make(sizeof(*cq));

    (void)user;
    (void)vector;
    if (cq) {
        cq->channel = channel;
        cq->context = ctx;
        cq->cqe = cqe;
    }
    return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    armed = armed == cq ? NULL : armed;
    notifying = notifying == cq ? NULL : notifying;
    return unmake(cq);
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
    cq->cqe = cqe;
    return fails() ? EINVAL : 0;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
    (void)solicited;
    armed = cq->channel ? cq : NULL;
    return fails() ? EINVAL : 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
    struct ibv_comp_channel *channel = make(sizeof(*channel));

    if (channel) {
        channel->context = ctx;
        channel->fd = eventfd(0, EFD_NONBLOCK);
    }
    return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    return unmake(channel);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user)
{
    eventfd_t cnt;

    *cq = notifying;
    *user = NULL;
    notifying = NULL;
    return eventfd_read(channel->fd, &cnt) == 0 && *cq ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int cnt)
{
    (void)cq;
    (void)cnt;
}

int ibv_query_pkey(struct ibv_context *ctx, uint8_t port, int index, __be16 *pkey)
{
    (void)ctx;
    (void)port;
    *pkey = 0xFFFF;
    return index == 0 ? 0 : -1;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
    struct ibv_mr *mr = make(sizeof(*mr));

    (void)access;
    if (mr) {
        mr->context = pd->context;
        mr->pd = pd;
        mr->addr = addr;
        mr->length = len;
        mr->rkey = mr->lkey = ++next_number;
        if (mr_cnt == MRS)
            abort();
        mrs[mr_cnt++] = mr;
    }
    return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
                                unsigned int access)
{
    (void)iova;
    return ibv_reg_mr(pd, addr, len, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    unsigned at = mr_cnt;

    while (at > 0 && mrs[at - 1] != mr)
        at--;
    if (at > 0)
        mrs[at - 1] = mrs[--mr_cnt];
    return unmake(mr);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_qp *qp = make(sizeof(*qp));

    if (qp) {
        qp->context = pd->context;
        qp->pd = pd;
        qp->srq = init->srq;
        qp->qp_num = ++next_number & 0xFFFFFF;
        qp->qp_type = init->qp_type;
        if (qp_cnt < sizeof(qps) / sizeof(qps[0]))
            qps[qp_cnt++] = qp;
    }
    return qp;
}

/* Destroys a QP. Drops its posted receives and its completions. */
int ibv_destroy_qp(struct ibv_qp *qp)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < waiting_cnt; i++)
        if (waiting[i].qpn != qp->qp_num)
            waiting[kept++] = waiting[i];
    waiting_cnt = kept;
    kept = 0;
    for (unsigned i = 0; i < wc_cnt; i++)
        if (wc[i].qp_num != qp->qp_num)
            wc[kept++] = wc[i];
    wc_cnt = kept;
    kept = 0;
    for (unsigned i = 0; i < qp_cnt; i++)
        if (qps[i] != qp)
            qps[kept++] = qps[i];
    qp_cnt = kept;
    return unmake(qp);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct ibv_ah *ah = make(sizeof(*ah));

    (void)attr;
    if (ah)
        ah->pd = pd;
    return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    return unmake(ah);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    if (fails())
        return EINVAL;
    if (mask & IBV_QP_STATE)
        qp->state = attr->qp_state;
    return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    (void)mask;
    (void)init;
    *attr = (struct ibv_qp_attr){.qp_state = qp->state};
    return fails() ? EINVAL : 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    struct ibv_srq *srq = make(sizeof(*srq));

    (void)init;
    if (srq) {
        srq->context = pd->context;
        srq->pd = pd;
    }
    return srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
    (void)srq;
    (void)attr;
    (void)mask;
    return fails() ? EINVAL : 0;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
    return fails() ? EBUSY : unmake(srq);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)srq;
    *bad = wr;
    return fails() ? ENOMEM : 0;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    struct ibv_mw *mw = make(sizeof(*mw));

    if (mw)
        *mw = (struct ibv_mw){
            .context = pd->context, .pd = pd, .rkey = ++next_number << 8, .type = type};
    return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
    return fails() ? EBUSY : unmake(mw);
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    if (fails())
        return EINVAL;
    mw->rkey++;
    complete(bind->wr_id, qp->qp_num, IBV_WC_BIND_MW, 0);
    return 0;
}

/* Sets the functions in ibv_context_ops for memory windows, SRQs and CQ notifications. */
static void set_object_ops(struct ibv_context *ctx)
{
    ctx->ops.req_notify_cq = req_notify_cq;
    ctx->ops.post_srq_recv = post_srq_recv;
    ctx->ops.alloc_mw = alloc_mw;
    ctx->ops.dealloc_mw = dealloc_mw;
    ctx->ops.bind_mw = bind_mw;
}

void fakeverbs_event(enum ibv_event_type type, unsigned qpn)
{
    event_type = type;
    event_qpn = qpn;
    if (write(event_pipe[1], "", 1) != 1)
        abort();
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
    char byte;

    (void)ctx;
    if (read(event_pipe[0], &byte, 1) != 1)
        return -1;
    *event = (struct ibv_async_event){.event_type = event_type};
    for (unsigned i = 0; i < qp_cnt; i++)
        if (qps[i]->qp_num == event_qpn)
            event->element.qp = qps[i];
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
    return type == IBV_EVENT_QP_ACCESS_ERR ? "local access violation" : "another event";
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return status == IBV_WC_SUCCESS ? "success" : "failure";
}
