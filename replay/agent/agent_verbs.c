/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "agent/agent_verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "util/strbuf.h"
#include "wire/crc32.h"

/* ---- opening and closing ----------------------------------------------------------------------
 */

/* Returns the device named `name`, or the first device if `name` is NULL. If there is none, returns
 * NULL and an error that lists the existing devices. */
static struct ibv_device *find_device(struct ibv_device **list, int cnt, const char *name,
                                      struct error *error)
{
    char others[512] = "";
    struct strbuf t = strbuf_of(others, sizeof(others));

    for (int i = 0; list && i < cnt; i++) {
        const char *other = ibv_get_device_name(list[i]);

        if (!name || strcmp(other, name) == 0)
            return list[i];
        strbuf_addf(&t, "%s %s", i ? "," : "; available:", other);
    }
    if (name)
        error_set(error, "--device %s: no such RDMA device%s", name, others);
    else
        error_set(error, "no RDMA device found");
    return NULL;
}

static struct ibv_context *open_named(struct agent_device *dev, const char *name)
{
    int cnt = 0;
    struct ibv_device **list = ibv_get_device_list(&cnt);
    struct ibv_device *device = find_device(list, cnt, name, &dev->error);
    struct ibv_context *ctx = device ? ibv_open_device(device) : NULL;

    if (device && !ctx)
        error_set(&dev->error, "cannot open the RDMA device: %s", strerror(errno));
    if (list)
        ibv_free_device_list(list);
    return ctx;
}

int agent_device_find(const char *name, struct error *error)
{
    int cnt = 0;
    struct ibv_device **list = name ? ibv_get_device_list(&cnt) : NULL;
    int rc = !name || find_device(list, cnt, name, error) ? 0 : -1;

    if (list)
        ibv_free_device_list(list);
    return rc;
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

void agent_wr_free(struct agent_device *dev, struct agent_wr *wr)
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

int agent_failed(struct agent_device *dev, const char *what, int code)
{
    dev->code = code;
    return error_set(&dev->error, "cannot %s: %s", what, strerror(code));
}

/* Destroys all objects, memory windows first. A QP with a bound window of type 2A cannot be
 * destroyed. If a window of type 2B is bound, rxe waits 50 s before it destroys the QP. */
void agent_device_close(struct agent_device *dev)
{
    for (uint32_t i = 0; i < dev->mw_cnt; i++)
        if (dev->mw[i])
            ibv_dealloc_mw(dev->mw[i]);
    for (uint32_t i = 0; i < dev->qp_cnt; i++)
        if (dev->qp[i].qp)
            ibv_destroy_qp(dev->qp[i].qp);
    for (uint32_t i = 0; i < dev->srq_cnt; i++)
        if (dev->srq[i])
            ibv_destroy_srq(dev->srq[i]);
    for (uint32_t i = 0; i < AGENT_CQ_LEN; i++)
        if (dev->wr[i].bytes)
            agent_wr_free(dev, &dev->wr[i]);
    for (uint32_t i = 0; i < dev->mr_cnt; i++) {
        if (dev->mr[i].mr)
            ibv_dereg_mr(dev->mr[i].mr);
        munmap(dev->mr[i].map, dev->mr[i].map_len);
    }
    for (uint32_t i = 0; i < dev->own_cq_cnt; i++) {
        if (dev->own_cq[i].cq)
            ibv_destroy_cq(dev->own_cq[i].cq);
        ibv_destroy_comp_channel(dev->own_cq[i].channel);
    }
    for (uint32_t i = 0; i < dev->own_pd_cnt; i++)
        if (dev->own_pd[i])
            ibv_dealloc_pd(dev->own_pd[i]);
    if (dev->cq)
        ibv_destroy_cq(dev->cq);
    if (dev->pd)
        ibv_dealloc_pd(dev->pd);
    if (dev->ctx)
        ibv_close_device(dev->ctx);
    dev->ctx = NULL;
    dev->pd = NULL;
    dev->cq = NULL;
    dev->mr_cnt = dev->qp_cnt = dev->srq_cnt = dev->mw_cnt = 0;
    dev->own_cq_cnt = dev->own_pd_cnt = 0;
}

/* ---- memory regions ----------------------------------------------------------------------------
 */

int agent_mr_register(struct agent_device *dev, uint32_t mr)
{
    struct agent_mr *m = &dev->mr[mr];

    if (m->mr)
        return 0;
    m->mr = ibv_reg_mr_iova2(m->pd, m->bytes, m->len, m->addr, (unsigned)m->access);
    if (m->mr)
        return 0;
    dev->code = errno;
    return error_set(&dev->error, "cannot register %llu bytes with access 0x%x: %s",
                     (unsigned long long)m->len, (unsigned)m->access, strerror(errno));
}

/* Allocates and registers a memory region. If the client chooses the IOVA, the address of the
 * memory and the IOVA have the same offset inside a page, as devices require. */
int agent_mr_new(struct agent_device *dev, const struct agent_mr_attr *attr, uint32_t *out)
{
    uint64_t len = attr->len;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t offset = attr->has_iova ? attr->iova % page : 0;
    struct agent_mr *m = &dev->mr[dev->mr_cnt];
    void *map;

    if (dev->mr_cnt == AGENT_MRS_MAX)
        return error_set(&dev->error, "more than %u memory regions", AGENT_MRS_MAX);
    if (len == 0 || len > AGENT_BYTES_MAX - dev->bytes)
        return error_set(
            &dev->error,
            "len must be at least 1, and a session may allocate at most %llu bytes in all",
            (unsigned long long)AGENT_BYTES_MAX);
    *m = (struct agent_mr){.len = len,
                           .access = attr->access,
                           .pd = attr->pd ? attr->pd : dev->pd,
                           .map_len = (offset + len + page - 1) / page * page};
    map = mmap(NULL, m->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return error_set(&dev->error, "no memory for %llu bytes", (unsigned long long)len);
    m->map = map;
    m->bytes = m->map + offset;
    m->addr = attr->has_iova ? attr->iova : (uintptr_t)m->bytes;
    if (agent_mr_register(dev, dev->mr_cnt) != 0) {
        munmap(m->map, m->map_len);
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
        return agent_failed(dev, "deregister the region", rc);
    m->mr = NULL;
    return 0;
}

/* ---- queue pairs ------------------------------------------------------------------------------
 */

int agent_qp_new(struct agent_device *dev, enum ibv_qp_type type, const struct agent_qp_caps *caps,
                 uint32_t *out)
{
    struct ibv_qp_init_attr init = {
        .send_cq = caps->cq ? caps->cq : dev->cq,
        .recv_cq = caps->cq ? caps->cq : dev->cq,
        .srq = caps->srq,
        .cap = {.max_send_wr = caps->max_send ? caps->max_send : 1,
                .max_recv_wr = caps->max_recv ? caps->max_recv : 1,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = caps->max_inline},
        .qp_type = type,
    };
    struct agent_qp *qp = &dev->qp[dev->qp_cnt];
    uint64_t bytes = AGENT_QP_BYTES +
                     (uint64_t)caps->max_send * (AGENT_WQE_BYTES + caps->max_inline) +
                     (uint64_t)caps->max_recv * AGENT_WQE_BYTES;

    if (dev->qp_cnt == AGENT_QPS_MAX)
        return error_set(&dev->error, "more than %u queue pairs", AGENT_QPS_MAX);
    if (caps->max_send > AGENT_CQ_LEN || caps->max_recv > AGENT_CQ_LEN)
        return error_set(&dev->error, "max_send and max_recv must not exceed %u", AGENT_CQ_LEN);
    if (bytes > AGENT_BYTES_MAX - dev->bytes)
        return error_set(&dev->error, "a session may allocate at most %llu bytes in all",
                         (unsigned long long)AGENT_BYTES_MAX);
    qp->qp = ibv_create_qp(caps->pd ? caps->pd : dev->pd, &init);
    if (!qp->qp)
        return agent_failed(dev, "create the QP", errno);
    qp->bytes = bytes;
    dev->bytes += bytes;
    *out = dev->qp_cnt++;
    return 0;
}

/* Returns the enum ibv_mtu of a path MTU, or 0 if `bytes` is not a path MTU. */
static enum ibv_mtu mtu_code(uint32_t bytes)
{
    unsigned code = IBV_MTU_256;

    while (code <= IBV_MTU_4096 && 128u << code != bytes)
        code++;
    return (enum ibv_mtu)(code <= IBV_MTU_4096 ? code : 0);
}

/* Returns the index of P_Key `pkey` in the P_Key table of the port, or -1 if the table does not
 * contain it. */
static int pkey_index(struct agent_device *dev, uint16_t pkey)
{
    __be16 value;

    for (int i = 0; i < dev->port.pkey_tbl_len; i++)
        if (ibv_query_pkey(dev->ctx, AGENT_PORT, i, &value) == 0 && ntohs(value) == pkey)
            return i;
    return -1;
}

int agent_qp_attr(struct agent_device *dev, const struct agent_connect *to,
                  struct ibv_qp_attr *attr)
{
    int pkey = to->pkey == AGENT_PKEY ? 0 : pkey_index(dev, to->pkey);

    if (pkey < 0)
        return agent_failed(dev, "find the P_Key", EOPNOTSUPP);
    *attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_INIT,
        .port_num = to->port,
        .pkey_index = (uint16_t)pkey,
        .qp_access_flags = (unsigned)to->access,
        .path_mtu = mtu_code(to->mtu),
        .dest_qp_num = to->dest_qpn,
        .qkey = to->qkey,
        .rq_psn = to->rq_psn,
        .sq_psn = to->sq_psn,
        .max_dest_rd_atomic = to->resources,
        .max_rd_atomic = to->rd_atomic,
        .min_rnr_timer = to->min_rnr_timer,
        .timeout = to->timeout,
        .retry_cnt = to->retry_cnt,
        .rnr_retry = to->rnr_retry,
        .ah_attr = {.is_global = 1,
                    .port_num = AGENT_PORT,
                    .grh = {.dgid = to->dgid,
                            .sgid_index = (uint8_t)to->gid_index,
                            .traffic_class = to->tclass,
                            .hop_limit = to->hop_limit}},
    };
    return 0;
}

int agent_qp_connect(struct agent_device *dev, uint32_t qp, const struct agent_connect *to)
{
    struct ibv_qp *handle = dev->qp[qp].qp;
    struct ibv_qp_attr attr;
    static const struct {
        enum ibv_qp_state state;
        int rc, uc, ud; /* attributes (enum ibv_qp_attr_mask) that ibv_modify_qp() requires for RC,
                         * UC and UD */
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
    static const char *const names[] = {"modify the QP to INIT", "modify the QP to RTR",
                                        "modify the QP to RTS"};

    if (!handle)
        return error_set(&dev->error, "the QP was deleted");
    if (agent_qp_attr(dev, to, &attr) != 0)
        return -1;
    if ((128u << attr.path_mtu) != to->mtu)
        return error_set(&dev->error, "%u is not a path MTU", to->mtu);
    if (attr.path_mtu > dev->port.active_mtu)
        return error_set(&dev->error, "the device's path MTU is %u, not %u",
                         128u << dev->port.active_mtu, to->mtu);
    for (unsigned i = 0; i < 3 && steps[i].state <= to->last; i++) {
        int rc;

        int mask = handle->qp_type == IBV_QPT_RC   ? steps[i].rc
                   : handle->qp_type == IBV_QPT_UC ? steps[i].uc
                                                   : steps[i].ud;

        attr.qp_state = steps[i].state;
        rc = ibv_modify_qp(handle, &attr, IBV_QP_STATE | mask);
        if (rc != 0)
            return agent_failed(dev, names[i], rc > 0 ? rc : errno);
    }
    return 0;
}

int agent_qp_del(struct agent_device *dev, uint32_t qp)
{
    int rc = dev->qp[qp].qp ? ibv_destroy_qp(dev->qp[qp].qp) : 0;

    if (rc != 0)
        return agent_failed(dev, "destroy the QP", rc);
    dev->qp[qp].qp = NULL;
    dev->bytes -= dev->qp[qp].bytes;
    dev->qp[qp].bytes = 0;
    for (uint32_t i = 0; i < AGENT_CQ_LEN; i++)
        if (dev->wr[i].bytes && dev->wr[i].qp == qp)
            agent_wr_free(dev, &dev->wr[i]);
    return 0;
}

/* ---- posting work requests ---------------------------------------------------------------------
 */

struct agent_wr *agent_wr_new(struct agent_device *dev, struct ibv_pd *pd, uint32_t qp, uint64_t id,
                              uint32_t len)
{
    struct agent_wr *wr = dev->free_wr;

    if (!wr || len > AGENT_BYTES_MAX - dev->bytes) {
        if (!wr)
            error_set(&dev->error, "a session may have at most %u outstanding requests",
                      AGENT_CQ_LEN);
        else
            error_set(&dev->error, "a session may use at most %llu bytes of memory",
                      (unsigned long long)AGENT_BYTES_MAX);
        return NULL;
    }
    dev->free_wr = wr->next;
    *wr = (struct agent_wr){.qp = qp, .id = id, .len = len, .bytes = calloc(1, len + 1)};
    dev->bytes += len;
    if (wr->bytes && len)
        wr->mr = ibv_reg_mr(pd, wr->bytes, len, IBV_ACCESS_LOCAL_WRITE);
    if (!wr->bytes || (len && !wr->mr)) {
        error_set(&dev->error, "cannot allocate a buffer of %u bytes: %s", len, strerror(errno));
        agent_wr_free(dev, wr);
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
    return qp < dev->qp_cnt && dev->qp[qp].qp && dev->qp[qp].qp->qp_type == IBV_QPT_UD;
}

/* Allocates an entry for a receive (struct agent_wr), and fills the work request *recv and its
 * element *sge. Returns NULL and sets dev->error if no entry is free. */
static struct agent_wr *new_recv(struct agent_device *dev, struct ibv_pd *pd, uint32_t qp,
                                 uint64_t id, uint32_t len, const struct agent_place *place,
                                 struct ibv_sge *sge, struct ibv_recv_wr *recv)
{
    struct agent_wr *wr = agent_wr_new(dev, pd, qp, id, place->given ? 0 : len);

    if (!wr)
        return NULL;
    wr->recv = true;
    wr->placed = place->given;
    *sge = sge_of(wr);
    if (place->given)
        *sge = (struct ibv_sge){.addr = place->addr, .length = len, .lkey = place->lkey};
    *recv = (struct ibv_recv_wr){
        .wr_id = (uint64_t)(wr - dev->wr), .sg_list = sge, .num_sge = sge->length ? 1 : 0};
    return wr;
}

int agent_recv(struct agent_device *dev, uint32_t qp, uint64_t id, uint32_t len,
               const struct agent_place *place)
{
    bool area = is_ud(dev, qp) && !place->given;
    struct ibv_recv_wr recv, *bad;
    struct ibv_sge sge;
    struct agent_wr *wr = NULL;
    int rc;

    if (!dev->qp[qp].qp)
        return error_set(&dev->error, "the QP was deleted");
    wr = new_recv(dev, dev->qp[qp].qp->pd, qp, id, area ? len + AGENT_AREA : len, place, &sge,
                  &recv);
    if (!wr)
        return -1;
    rc = ibv_post_recv(dev->qp[qp].qp, &recv, &bad);
    if (rc == 0)
        return 0;
    agent_wr_free(dev, wr);
    return agent_failed(dev, "post the receive", rc);
}

/* Returns whether a UD QP receives from the SRQ. */
static bool srq_serves_ud(const struct agent_device *dev, uint32_t srq)
{
    for (uint32_t i = 0; i < dev->qp_cnt; i++)
        if (is_ud(dev, i) && dev->qp[i].qp->srq == dev->srq[srq])
            return true;
    return false;
}

int agent_srq_recv(struct agent_device *dev, uint32_t srq, uint64_t id, uint32_t len,
                   const struct agent_place *place)
{
    bool area = srq_serves_ud(dev, srq) && !place->given;
    struct ibv_recv_wr recv, *bad;
    struct ibv_sge sge;
    struct agent_wr *wr = new_recv(dev, dev->srq[srq]->pd, AGENT_QPS_MAX, id,
                                   area ? len + AGENT_AREA : len, place, &sge, &recv);
    int rc;

    if (!wr)
        return -1;
    wr->shared = true;
    rc = ibv_post_srq_recv(dev->srq[srq], &recv, &bad);
    if (rc == 0)
        return 0;
    agent_wr_free(dev, wr);
    return agent_failed(dev, "post the receive", rc);
}

/* Returns whether a buffer is inside one memory region of the session. Needed for inline sends, for
 * which the device copies the bytes without checking an L_Key. */
static bool is_own_memory(const struct agent_device *dev, uint64_t addr, uint64_t len)
{
    for (uint32_t i = 0; i < dev->mr_cnt; i++) {
        uint64_t start = (uintptr_t)dev->mr[i].bytes;

        if (addr >= start && addr - start <= dev->mr[i].len &&
            len <= dev->mr[i].len - (addr - start))
            return true;
    }
    return false;
}

int agent_send(struct agent_device *dev, uint32_t qp, const struct agent_send *send,
               const uint8_t *bytes)
{
    struct ibv_send_wr wr = {.opcode = send->opcode}, *bad;
    bool atomic =
        send->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || send->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    bool bare = send->place.given || send->opcode == IBV_WR_LOCAL_INV;
    struct agent_wr *slot;
    struct ibv_sge sge;
    int rc;

    if (!dev->qp[qp].qp)
        return error_set(&dev->error, "the QP was deleted");
    if (send->inlined && (!send->place.given || !is_own_memory(dev, send->place.addr, send->len)))
        return error_set(&dev->error, "inline: the buffer must lie inside a registered region");
    slot = agent_wr_new(dev, dev->qp[qp].qp->pd, qp, send->id, bare ? 0 : atomic ? 8 : send->len);
    if (!slot)
        return -1;
    slot->placed = send->place.given;
    slot->fetches = atomic || send->opcode == IBV_WR_RDMA_READ;
    if (bytes && !bare)
        memcpy(slot->bytes, bytes, slot->len < send->len ? slot->len : send->len);
    sge = sge_of(slot);
    if (send->place.given)
        sge = (struct ibv_sge){
            .addr = send->place.addr, .length = send->len, .lkey = send->place.lkey};
    wr.wr_id = (uint64_t)(slot - dev->wr);
    wr.sg_list = &sge;
    wr.num_sge = sge.length || send->place.given ? 1 : 0;
    wr.send_flags = (send->unsignaled ? 0u : IBV_SEND_SIGNALED) |
                    (send->solicited ? IBV_SEND_SOLICITED : 0u) |
                    (send->fence ? IBV_SEND_FENCE : 0u) | (send->inlined ? IBV_SEND_INLINE : 0u);
    if (send->opcode == IBV_WR_SEND_WITH_INV || send->opcode == IBV_WR_LOCAL_INV)
        wr.invalidate_rkey = send->invalidate;
    else
        wr.imm_data = htonl(send->imm);
    if (is_ud(dev, qp)) {
        struct ibv_ah_attr to = {.is_global = 1,
                                 .port_num = AGENT_PORT,
                                 .grh = {.dgid = send->dgid,
                                         .sgid_index = (uint8_t)send->gid_index,
                                         .hop_limit = send->hop_limit,
                                         .traffic_class = send->tclass}};

        slot->ah = ibv_create_ah(dev->qp[qp].qp->pd, &to);
        if (!slot->ah) {
            rc = errno;
            agent_wr_free(dev, slot);
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
    agent_wr_free(dev, slot);
    return agent_failed(dev, "post the send", rc);
}

/* ---- polling completions -----------------------------------------------------------------------
 */

int agent_poll(struct agent_device *dev, struct agent_completion *out)
{
    struct agent_wr *wr;
    struct ibv_wc wc;
    int cnt;

    do {
        cnt = ibv_poll_cq(dev->cq, 1, &wc);
        for (uint32_t i = 0; cnt == 0 && i < dev->own_cq_cnt; i++)
            if (dev->own_cq[i].cq)
                cnt = ibv_poll_cq(dev->own_cq[i].cq, 1, &wc);
        if (cnt < 0)
            return error_set(&dev->error, "cannot poll the completion queue");
        if (cnt == 0)
            return 0;
        /* Skips completions of deleted QPs: their entries in dev->wr were freed. */
    } while (wc.wr_id >= AGENT_CQ_LEN || !dev->wr[wc.wr_id].bytes);
    wr = &dev->wr[wc.wr_id];
    *out = (struct agent_completion){
        .qp = wr->qp, .id = wr->id, .status = wc.status, .recv = wr->recv};
    for (uint32_t i = 0; wr->shared && i < dev->qp_cnt; i++)
        if (dev->qp[i].qp && dev->qp[i].qp->qp_num == wc.qp_num)
            out->qp = i;
    if (wc.status == IBV_WC_SUCCESS) {
        uint32_t len = wr->recv ? wc.byte_len : wr->fetches ? wr->len : 0;
        const uint8_t *bytes = wr->bytes;

        if (wr->recv && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
            len = 0; /* a WRITE with immediate writes no data into the receive buffer */
        if (len > wr->len)
            len = wr->len;
        out->byte_len = wc.byte_len;
        out->has_invalidated = wr->recv && (wc.wc_flags & IBV_WC_WITH_INV);
        out->invalidated = out->has_invalidated ? wc.invalidated_rkey : 0;
        if (wr->recv && is_ud(dev, out->qp)) {
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
    agent_wr_free(dev, wr);
    return 1;
}

uint32_t agent_crc32(const uint8_t *p, uint64_t len)
{
    return roce_crc32(0, p, len);
}
