/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "agent/agent_verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- opening and closing ----------------------------------------------------------------------
 */

static struct ibv_context *open_named(struct agent_device *dev, const char *name)
{
    int cnt = 0;
    struct ibv_device **list = ibv_get_device_list(&cnt);
    struct ibv_context *ctx = NULL;
    bool found = false;

    for (int i = 0; list && i < cnt && !found; i++) {
        found = !name || strcmp(ibv_get_device_name(list[i]), name) == 0;
        if (found)
            ctx = ibv_open_device(list[i]);
    }
    if (!found && name)
        error_set(&dev->error, "no RDMA device named %s", name);
    else if (!found)
        error_set(&dev->error, "no RDMA device found");
    else if (!ctx)
        error_set(&dev->error, "cannot open the RDMA device: %s", strerror(errno));
    if (list)
        ibv_free_device_list(list);
    return ctx;
}

int agent_device_open(struct agent_device *dev, const char *name)
{
    memset(dev, 0, sizeof(*dev));
    for (uint32_t i = AGENT_CQ_LEN; i-- > 0;) {
        dev->wr[i].next = dev->free_wr;
        dev->free_wr = &dev->wr[i];
    }
    dev->ctx = open_named(dev, name);
    if (!dev->ctx)
        return -1;
    if (ibv_query_device(dev->ctx, &dev->attr) == 0 &&
        ibv_query_port(dev->ctx, AGENT_PORT, &dev->port) == 0 &&
        (dev->pd = ibv_alloc_pd(dev->ctx)) != NULL &&
        (dev->cq = ibv_create_cq(dev->ctx,
                                 dev->attr.max_cqe < (int)AGENT_CQ_LEN ? dev->attr.max_cqe
                                                                       : (int)AGENT_CQ_LEN,
                                 NULL, NULL, 0)) != NULL)
        return 0;
    error_set(&dev->error, "cannot create PD or CQ on the RDMA device: %s", strerror(errno));
    agent_device_close(dev);
    return -1;
}

static void free_wr_slot(struct agent_device *dev, struct agent_wr *wr)
{
    if (wr->ah)
        ibv_destroy_ah(wr->ah);
    if (wr->mr)
        ibv_dereg_mr(wr->mr);
    free(wr->bytes);
    dev->bytes -= wr->len;
    *wr = (struct agent_wr){.next = dev->free_wr};
    dev->free_wr = wr;
}

void agent_device_close(struct agent_device *dev)
{
    for (uint32_t i = 0; i < dev->qp_cnt; i++)
        if (dev->qp[i].qp)
            ibv_destroy_qp(dev->qp[i].qp);
    for (uint32_t i = 0; i < AGENT_CQ_LEN; i++)
        if (dev->wr[i].bytes)
            free_wr_slot(dev, &dev->wr[i]);
    for (uint32_t i = 0; i < dev->mr_cnt; i++) {
        if (dev->mr[i].mr)
            ibv_dereg_mr(dev->mr[i].mr);
        munmap(dev->mr[i].bytes, dev->mr[i].map_len);
    }
    if (dev->cq)
        ibv_destroy_cq(dev->cq);
    if (dev->pd)
        ibv_dealloc_pd(dev->pd);
    if (dev->ctx)
        ibv_close_device(dev->ctx);
    dev->ctx = NULL;
    dev->pd = NULL;
    dev->cq = NULL;
    dev->mr_cnt = dev->qp_cnt = 0;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

int agent_mr_register(struct agent_device *dev, uint32_t mr)
{
    struct agent_mr *m = &dev->mr[mr];

    if (m->mr)
        return 0;
    m->mr = ibv_reg_mr(dev->pd, m->bytes, m->len, m->access);
    return m->mr ? 0
                 : error_set(&dev->error, "cannot register %llu bytes with access 0x%x: %s",
                             (unsigned long long)m->len, (unsigned)m->access, strerror(errno));
}

int agent_mr_new(struct agent_device *dev, uint64_t len, int access, uint32_t *out)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct agent_mr *m = &dev->mr[dev->mr_cnt];
    void *bytes;

    if (dev->mr_cnt == AGENT_MRS_MAX)
        return error_set(&dev->error, "more than %u memory regions", AGENT_MRS_MAX);
    if (len == 0 || len > AGENT_BYTES_MAX - dev->bytes)
        return error_set(
            &dev->error,
            "len must be at least 1 and within the rest of the session limit of %llu bytes",
            (unsigned long long)AGENT_BYTES_MAX);
    *m = (struct agent_mr){.len = len, .access = access, .map_len = (len + page - 1) / page * page};
    bytes = mmap(NULL, m->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return error_set(&dev->error, "no memory for %llu bytes", (unsigned long long)len);
    m->bytes = bytes;
    if (agent_mr_register(dev, dev->mr_cnt) != 0) {
        munmap(m->bytes, m->map_len);
        return -1;
    }
    dev->bytes += len;
    *out = dev->mr_cnt++;
    return 0;
}

int agent_mr_withdraw(struct agent_device *dev, uint32_t mr)
{
    struct agent_mr *m = &dev->mr[mr];
    int rc = m->mr ? ibv_dereg_mr(m->mr) : 0;

    if (rc != 0)
        return error_set(&dev->error, "cannot deregister the region: %s", strerror(rc));
    m->mr = NULL;
    return 0;
}

/* ---- queue pairs ------------------------------------------------------------------------------
 */

int agent_qp_new(struct agent_device *dev, enum ibv_qp_type type, uint32_t max_send,
                 uint32_t max_recv, uint32_t *out)
{
    struct ibv_qp_init_attr init = {
        .send_cq = dev->cq,
        .recv_cq = dev->cq,
        .cap = {.max_send_wr = max_send ? max_send : 1,
                .max_recv_wr = max_recv ? max_recv : 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = type,
        .sq_sig_all = 1,
    };
    struct agent_qp *qp = &dev->qp[dev->qp_cnt];

    if (dev->qp_cnt == AGENT_QPS_MAX)
        return error_set(&dev->error, "more than %u queue pairs", AGENT_QPS_MAX);
    if (max_send > AGENT_CQ_LEN || max_recv > AGENT_CQ_LEN)
        return error_set(&dev->error, "max_send and max_recv must not exceed %u", AGENT_CQ_LEN);
    qp->qp = ibv_create_qp(dev->pd, &init);
    if (!qp->qp)
        return error_set(&dev->error, "cannot create the QP: %s", strerror(errno));
    *out = dev->qp_cnt++;
    return 0;
}

static enum ibv_mtu mtu_code(uint32_t bytes)
{
    enum ibv_mtu code = IBV_MTU_256;

    while (code < IBV_MTU_4096 && 128u << code < bytes)
        code++;
    return code;
}

int agent_qp_connect(struct agent_device *dev, uint32_t qp, const struct agent_connect *to)
{
    struct ibv_qp *handle = dev->qp[qp].qp;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = AGENT_PORT,
        .qp_access_flags = (unsigned)to->access,
        .path_mtu = mtu_code(to->mtu),
        .dest_qp_num = to->dest_qpn,
        .qkey = to->qkey,
        .rq_psn = to->rq_psn,
        .sq_psn = to->sq_psn,
        .max_dest_rd_atomic = to->rd_atomic,
        .max_rd_atomic = to->rd_atomic,
        .min_rnr_timer = to->min_rnr_timer,
        .timeout = to->timeout,
        .retry_cnt = to->retry_cnt,
        .rnr_retry = to->rnr_retry,
        .ah_attr = {.is_global = 1,
                    .port_num = AGENT_PORT,
                    .grh = {.dgid = to->dgid,
                            .sgid_index = (uint8_t)to->gid_index,
                            .hop_limit = to->hop_limit}},
    };
    static const struct {
        enum ibv_qp_state state;
        int rc, uc, ud; /* attributes that each service needs */
    } steps[] = {
        {IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
         IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
         IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
        {IBV_QPS_RTR,
         IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
             IBV_QP_MIN_RNR_TIMER,
         IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, 0},
        {IBV_QPS_RTS,
         IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
             IBV_QP_MAX_QP_RD_ATOMIC,
         IBV_QP_SQ_PSN, IBV_QP_SQ_PSN},
    };
    static const char *const names[] = {"INIT", "RTR", "RTS"};

    if (!handle)
        return error_set(&dev->error, "the QP was deleted");
    if ((128u << attr.path_mtu) != to->mtu)
        return error_set(&dev->error, "%u is not a path MTU", to->mtu);
    if (attr.path_mtu > dev->port.active_mtu)
        return error_set(&dev->error, "the device's path MTU is %u, not %u",
                         128u << dev->port.active_mtu, to->mtu);
    for (unsigned i = 0; i < 3; i++) {
        int rc;

        int mask = handle->qp_type == IBV_QPT_RC   ? steps[i].rc
                   : handle->qp_type == IBV_QPT_UC ? steps[i].uc
                                                   : steps[i].ud;

        attr.qp_state = steps[i].state;
        rc = ibv_modify_qp(handle, &attr, IBV_QP_STATE | mask);
        if (rc != 0)
            return error_set(&dev->error, "cannot modify the QP to %s: %s", names[i],
                             strerror(rc > 0 ? rc : errno));
    }
    return 0;
}

int agent_qp_del(struct agent_device *dev, uint32_t qp)
{
    int rc = dev->qp[qp].qp ? ibv_destroy_qp(dev->qp[qp].qp) : 0;

    if (rc != 0)
        return error_set(&dev->error, "cannot destroy the QP: %s", strerror(rc));
    dev->qp[qp].qp = NULL;
    for (uint32_t i = 0; i < AGENT_CQ_LEN; i++)
        if (dev->wr[i].bytes && dev->wr[i].qp == qp)
            free_wr_slot(dev, &dev->wr[i]);
    return 0;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static struct agent_wr *new_wr_slot(struct agent_device *dev, uint32_t qp, uint64_t id,
                                    uint32_t len)
{
    struct agent_wr *wr = dev->free_wr;

    if (!dev->qp[qp].qp) {
        error_set(&dev->error, "the QP was deleted");
        return NULL;
    }
    if (!wr || len > AGENT_BYTES_MAX - dev->bytes) {
        error_set(&dev->error, "more than %u outstanding requests, or more than %llu bytes",
                  AGENT_CQ_LEN, (unsigned long long)AGENT_BYTES_MAX);
        return NULL;
    }
    dev->free_wr = wr->next;
    *wr = (struct agent_wr){.qp = qp, .id = id, .len = len, .bytes = calloc(1, len + 1)};
    dev->bytes += len;
    if (wr->bytes && len)
        wr->mr = ibv_reg_mr(dev->pd, wr->bytes, len, IBV_ACCESS_LOCAL_WRITE);
    if (!wr->bytes || (len && !wr->mr)) {
        error_set(&dev->error, "cannot allocate a buffer of %u bytes: %s", len, strerror(errno));
        free_wr_slot(dev, wr);
        return NULL;
    }
    return wr;
}

static struct ibv_sge sge_of(const struct agent_wr *wr)
{
    return (struct ibv_sge){
        .addr = (uintptr_t)wr->bytes, .length = wr->len, .lkey = wr->mr ? wr->mr->lkey : 0};
}

static bool is_ud(const struct agent_device *dev, uint32_t qp)
{
    return dev->qp[qp].qp && dev->qp[qp].qp->qp_type == IBV_QPT_UD;
}

int agent_recv(struct agent_device *dev, uint32_t qp, uint64_t id, uint32_t len)
{
    struct agent_wr *wr = new_wr_slot(dev, qp, id, is_ud(dev, qp) ? len + AGENT_AREA : len);
    struct ibv_sge sge;
    struct ibv_recv_wr recv = {0}, *bad;
    int rc;

    if (!wr)
        return -1;
    wr->recv = true;
    sge = sge_of(wr);
    recv.wr_id = (uint64_t)(wr - dev->wr);
    recv.sg_list = &sge;
    recv.num_sge = wr->len ? 1 : 0;
    rc = ibv_post_recv(dev->qp[qp].qp, &recv, &bad);
    if (rc == 0)
        return 0;
    free_wr_slot(dev, wr);
    return error_set(&dev->error, "cannot post the receive: %s", strerror(rc));
}

int agent_send(struct agent_device *dev, uint32_t qp, const struct agent_send *send,
               const uint8_t *bytes)
{
    struct ibv_send_wr wr = {.opcode = send->opcode}, *bad;
    bool atomic =
        send->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || send->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    struct agent_wr *slot = new_wr_slot(dev, qp, send->id, atomic ? 8 : send->len);
    struct ibv_sge sge;
    int rc;

    if (!slot)
        return -1;
    slot->fetches = atomic || send->opcode == IBV_WR_RDMA_READ;
    if (bytes)
        memcpy(slot->bytes, bytes, slot->len < send->len ? slot->len : send->len);
    sge = sge_of(slot);
    wr.wr_id = (uint64_t)(slot - dev->wr);
    wr.sg_list = &sge;
    wr.num_sge = slot->len ? 1 : 0;
    wr.send_flags = IBV_SEND_SIGNALED | (send->solicited ? IBV_SEND_SOLICITED : 0u);
    if (send->opcode == IBV_WR_SEND_WITH_INV)
        wr.invalidate_rkey = send->invalidate;
    else
        wr.imm_data = htonl(send->imm);
    if (is_ud(dev, qp)) {
        struct ibv_ah_attr to = {.is_global = 1,
                                 .port_num = AGENT_PORT,
                                 .grh = {.dgid = send->dgid,
                                         .sgid_index = (uint8_t)send->gid_index,
                                         .hop_limit = send->hop_limit}};

        slot->ah = ibv_create_ah(dev->pd, &to);
        if (!slot->ah) {
            rc = errno;
            free_wr_slot(dev, slot);
            return error_set(&dev->error, "cannot create the address handle: %s", strerror(rc));
        }
        wr.wr.ud.ah = slot->ah;
        wr.wr.ud.remote_qpn = send->dest_qpn;
        wr.wr.ud.remote_qkey = send->qkey;
    } else if (atomic) {
        wr.wr.atomic.remote_addr = send->remote_addr;
        wr.wr.atomic.rkey = send->rkey;
        wr.wr.atomic.compare_add = send->compare_add;
        wr.wr.atomic.swap = send->swap;
    } else {
        wr.wr.rdma.remote_addr = send->remote_addr;
        wr.wr.rdma.rkey = send->rkey;
    }
    rc = ibv_post_send(dev->qp[qp].qp, &wr, &bad);
    if (rc == 0)
        return 0;
    free_wr_slot(dev, slot);
    return error_set(&dev->error, "cannot post the send: %s", strerror(rc));
}

/* ---- completions ------------------------------------------------------------------------------
 */

int agent_poll(struct agent_device *dev, struct agent_completion *out)
{
    struct agent_wr *wr;
    struct ibv_wc wc;
    int cnt;

    do {
        cnt = ibv_poll_cq(dev->cq, 1, &wc);
        if (cnt < 0)
            return error_set(&dev->error, "cannot poll the completion queue");
        if (cnt == 0)
            return 0;
        /* Completions of a deleted QP are dropped. */
    } while (wc.wr_id >= AGENT_CQ_LEN || !dev->wr[wc.wr_id].bytes);
    wr = &dev->wr[wc.wr_id];
    *out = (struct agent_completion){
        .qp = wr->qp, .id = wr->id, .status = wc.status, .recv = wr->recv};
    if (wc.status == IBV_WC_SUCCESS) {
        uint32_t len = wr->recv ? wc.byte_len : wr->fetches ? wr->len : 0;
        const uint8_t *bytes = wr->bytes;

        if (wr->recv && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
            len = 0; /* the data is not in the receive buffer */
        if (len > wr->len)
            len = wr->len;
        if (wr->recv && is_ud(dev, wr->qp)) {
            out->datagram = true;
            out->src_qpn = wc.src_qp;
            bytes += len < AGENT_AREA ? len : AGENT_AREA;
            len -= len < AGENT_AREA ? len : AGENT_AREA;
        }
        out->len = len;
        out->crc32 = agent_crc32(bytes, len);
        memcpy(out->first, bytes, len < 8 ? len : 8);
        out->has_imm = wr->recv && (wc.wc_flags & IBV_WC_WITH_IMM);
        out->imm = out->has_imm ? ntohl(wc.imm_data) : 0;
    }
    free_wr_slot(dev, wr);
    return 1;
}

uint32_t agent_crc32(const uint8_t *p, uint64_t len)
{
    uint32_t crc = 0xFFFFFFFF;

    for (uint64_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (unsigned k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}
