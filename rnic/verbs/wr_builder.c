/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Work request builder: the ibv_wr_* functions of struct ibv_qp_ex. ibv_wr_start() begins a batch,
 * and ibv_wr_complete() posts all of its requests, or none if one could not be built
 * (ibv_wr_post(3)). In between, the QP's builder belongs to one thread.
 *
 * SGEs and inline data are in two buffers (struct byte_store), which grow to the size of the
 * largest batch.
 */
#include "verbs/objects.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct byte_store {
    char *bytes;
    size_t len, cap;
};

struct built_request {
    struct rnic_send_wr wr;
    size_t sge_off, data_off; /* offsets in the byte stores, which resolve_pointers() replaces by
                               * pointers */
};

struct wr_builder {
    pthread_mutex_t lock;
    int error;
    struct byte_store requests; /* array of struct built_request */
    struct byte_store sges;     /* array of struct rnic_sge */
    struct byte_store data;
};

/* Appends `len` bytes (may be 0) to the buffer `store`. Returns the address of these bytes, or NULL
 * if out of memory. */
static void *store_add(struct byte_store *store, size_t len)
{
    if (!store->bytes || store->cap - store->len < len) {
        size_t cap = store->cap ? store->cap : 1024;
        while (cap - store->len < len)
            cap *= 2;
        char *bytes = realloc(store->bytes, cap);
        if (!bytes)
            return NULL;
        store->bytes = bytes;
        store->cap = cap;
    }
    store->len += len;
    return store->bytes + store->len - len;
}

static struct vqp *vqp_of_ex(struct ibv_qp_ex *ex)
{
    return (struct vqp *)(void *)ex;
}

static void set_build_error(struct wr_builder *builder, int error)
{
    if (builder->error == 0)
        builder->error = error;
}

/* Returns the last request of the batch, which the ibv_wr_set_*() functions change, or NULL. */
static struct built_request *last_request(struct wr_builder *builder)
{
    return builder->requests.len
               ? (struct built_request *)(void *)(builder->requests.bytes + builder->requests.len) -
                     1
               : NULL;
}

/* Adds a request to the batch. `wr` has the values of those members that no ibv_wr_set_*() function
 * sets. */
static void add_request(struct ibv_qp_ex *ex, const struct rnic_send_wr *wr)
{
    struct vqp *qp = vqp_of_ex(ex);
    struct wr_builder *builder = qp->builder;
    struct built_request *request = store_add(&builder->requests, sizeof *request);
    if (!request) {
        set_build_error(builder, ENOMEM);
        return;
    }
    *request = (struct built_request){
        .wr = *wr, .sge_off = builder->sges.len, .data_off = builder->data.len};
    request->wr.wr_id = ex->wr_id;
    request->wr.flags = (ex->wr_flags & ~(unsigned)IBV_SEND_INLINE) |
                        (qp->init.sq_sig_all ? RNIC_SEND_SIGNALED : 0u);
}

/* ---- adding requests to the batch ------------------------------------------------------------ */

static void wr_send(struct ibv_qp_ex *ex)
{
    add_request(ex, &(struct rnic_send_wr){.opcode = RNIC_WR_SEND});
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
    add_request(ex, &(struct rnic_send_wr){.opcode = RNIC_WR_SEND_IMM, .imm = be32toh(imm)});
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
    add_request(ex, &(struct rnic_send_wr){.opcode = RNIC_WR_SEND_INV, .invalidate_key = rkey});
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
    add_request(ex, &(struct rnic_send_wr){.opcode = RNIC_WR_LOCAL_INV, .invalidate_key = rkey});
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
    add_request(ex,
                &(struct rnic_send_wr){.opcode = RNIC_WR_WRITE, .remote_addr = addr, .rkey = rkey});
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
    add_request(ex, &(struct rnic_send_wr){.opcode = RNIC_WR_WRITE_IMM,
                                           .remote_addr = addr,
                                           .rkey = rkey,
                                           .imm = be32toh(imm)});
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
    add_request(ex,
                &(struct rnic_send_wr){.opcode = RNIC_WR_READ, .remote_addr = addr, .rkey = rkey});
}

static void wr_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
                       uint64_t swap)
{
    add_request(ex, &(struct rnic_send_wr){.opcode = RNIC_WR_CMP_SWAP,
                                           .remote_addr = addr,
                                           .rkey = rkey,
                                           .compare_add = compare,
                                           .swap = swap});
}

static void wr_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t value)
{
    add_request(ex, &(struct rnic_send_wr){.opcode = RNIC_WR_FETCH_ADD,
                                           .remote_addr = addr,
                                           .rkey = rkey,
                                           .compare_add = value});
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
                       const struct ibv_mw_bind_info *info)
{
    if (!mw || mw->type != IBV_MW_TYPE_2) {
        set_build_error(vqp_of_ex(ex)->builder, EINVAL);
        return;
    }
    add_request(
        ex, &(struct rnic_send_wr){.opcode = RNIC_WR_BIND_MW, .mw = vmw_bind_of(mw, rkey, info)});
}

static void set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length);

/* The 8 bytes of data are an argument of the call (ibv_wr_post(3)). */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *data)
{
    uint64_t value;
    memcpy(&value, data, sizeof value);
    add_request(ex, &(struct rnic_send_wr){
                        .opcode = RNIC_WR_ATOMIC_WRITE, .remote_addr = addr, .rkey = rkey});
    set_inline_data(ex, &value, sizeof value);
}

#ifdef HAVE_VERBS_FLUSH
static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len, uint8_t type,
                     uint8_t level)
{
    if (level == RNIC_FLUSH_RANGE && len > RNIC_MESSAGE_MAX) {
        set_build_error(vqp_of_ex(ex)->builder, EINVAL);
        return;
    }
    add_request(
        ex, &(struct rnic_send_wr){.opcode = RNIC_WR_FLUSH,
                                   .remote_addr = addr,
                                   .rkey = rkey,
                                   .flush = {(uint32_t)len, type, (enum rnic_flush_level)level}});
}
#endif

/* ---- setters: destination of the last request ------------------------------------------------ */

static void set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
    struct wr_builder *builder = vqp_of_ex(ex)->builder;
    struct built_request *request = last_request(builder);
    if (!request || !ah) {
        set_build_error(builder, EINVAL);
        return;
    }
    request->wr.ah = vah_of(ah)->rnic;
    request->wr.remote_qpn = qpn;
    request->wr.remote_qkey = qkey;
}

static void set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
    struct built_request *request = last_request(vqp_of_ex(ex)->builder);
    if (request)
        request->wr.srqn = srqn;
    else
        set_build_error(vqp_of_ex(ex)->builder, EINVAL);
}

/* ---- setters: data of the last request ------------------------------------------------------- */

static void set_sge_list(struct ibv_qp_ex *ex, size_t cnt, const struct ibv_sge *list)
{
    struct wr_builder *builder = vqp_of_ex(ex)->builder;
    struct built_request *request = last_request(builder);
    if (!request || cnt > vqp_of_ex(ex)->init.cap.max_send_sge) {
        set_build_error(builder, EINVAL);
        return;
    }
    void *sges = store_add(&builder->sges, cnt * sizeof *list);
    if (!sges) {
        set_build_error(builder, ENOMEM);
        return;
    }
    if (cnt > 0)
        memcpy(sges, list, cnt * sizeof *list);
    request->wr.sge_cnt = (uint32_t)cnt;
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
    set_sge_list(ex, 1, &(struct ibv_sge){.addr = addr, .length = length, .lkey = lkey});
}

static void set_inline_data_list(struct ibv_qp_ex *ex, size_t cnt, const struct ibv_data_buf *list)
{
    struct wr_builder *builder = vqp_of_ex(ex)->builder;
    struct built_request *request = last_request(builder);
    size_t len = 0, max = vqp_of_ex(ex)->init.cap.max_inline_data;
    for (size_t i = 0; i < cnt && len <= max; i++)
        len = list[i].length > max ? max + 1 : len + list[i].length;
    if (!request || len > max) {
        set_build_error(builder, EINVAL);
        return;
    }
    char *data = store_add(&builder->data, len);
    struct rnic_sge *sge = store_add(&builder->sges, sizeof *sge);
    if (!data || !sge) {
        set_build_error(builder, ENOMEM);
        return;
    }
    for (size_t i = 0; i < cnt; i++) {
        if (list[i].length)
            memcpy(data, list[i].addr, list[i].length);
        data += list[i].length;
    }
    *sge = (struct rnic_sge){.len = (uint32_t)len};
    request->wr.sge_cnt = 1;
    request->wr.flags |= RNIC_SEND_INLINE;
}

static void set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
    set_inline_data_list(ex, 1, &(struct ibv_data_buf){.addr = addr, .length = length});
}

/* ---- start, complete, abort ------------------------------------------------------------------ */

static void start_batch(struct ibv_qp_ex *ex)
{
    struct wr_builder *builder = vqp_of_ex(ex)->builder;
    pthread_mutex_lock(&builder->lock);
    builder->error = 0;
    builder->requests.len = builder->sges.len = builder->data.len = 0;
}

static void abort_batch(struct ibv_qp_ex *ex)
{
    pthread_mutex_unlock(&vqp_of_ex(ex)->builder->lock);
}

/* Sets the pointers of a request to its SGEs and inline data. Called when the batch is complete,
 * because the buffers move while they grow. */
static void resolve_pointers(struct wr_builder *builder, struct built_request *request)
{
    if (request->wr.sge_cnt == 0) /* a request without SGEs needs no pointer, and the buffer for
                                   * SGEs may not be allocated */
        return;
    struct rnic_sge *sges = (struct rnic_sge *)(void *)(builder->sges.bytes + request->sge_off);
    if (request->wr.flags & RNIC_SEND_INLINE)
        sges[0].addr = (uintptr_t)(builder->data.bytes + request->data_off);
    request->wr.sge = sges;
}

static int complete_batch(struct ibv_qp_ex *ex)
{
    struct vqp *qp = vqp_of_ex(ex);
    struct wr_builder *builder = qp->builder;
    size_t cnt = builder->requests.len / sizeof(struct built_request);
    struct built_request *requests = (struct built_request *)(void *)builder->requests.bytes;
    int result = builder->error;
    if (result == 0)
        result = vctx_check_owner(ex->qp_base.context, qp->hca);
    if (result == 0 && cnt > 0) {
        struct timeline *timeline = qp->hca->timeline;
        uint64_t called = timeline ? rnic_live_now() : 0;
        struct rnic_qp_view view;
        for (size_t i = 0; i < cnt; i++)
            resolve_pointers(builder, &requests[i]);
        vhca_lock(qp->hca);
        timeline_posting(timeline, called);
        rnic_qp_view(qp->rnic, &view);
        if (cnt > qp->init.cap.max_send_wr - view.send_wr)
            result = ENOMEM;
        for (size_t i = 0; i < cnt && cnt > 1 && result == 0; i++)
            result = verbs_errno(rnic_post_send_check(qp->rnic, &requests[i].wr));
        for (size_t i = 0; i < cnt && result == 0; i++)
            result = verbs_errno(rnic_post_send(qp->rnic, &requests[i].wr));
        vhca_unlock(qp->hca);
    }
    pthread_mutex_unlock(&builder->lock);
    return result;
}

/* ---- creating and freeing a builder ---------------------------------------------------------- */

/* The operations that a QP of this type supports: the table of ibv_wr_post(3). */
static uint64_t operations_of(enum ibv_qp_type type)
{
    const uint64_t datagram = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    const uint64_t connected = datagram | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |
                               IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_BIND_MW |
                               IBV_QP_EX_WITH_LOCAL_INV;
    uint64_t reliable = connected | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                        IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE;
#ifdef HAVE_VERBS_FLUSH
    reliable |= IBV_QP_EX_WITH_FLUSH;
#endif
    switch (type) {
    case IBV_QPT_RAW_PACKET: return IBV_QP_EX_WITH_SEND;
    case IBV_QPT_UD: return datagram;
    case IBV_QPT_UC: return connected;
    case IBV_QPT_RC:
    case IBV_QPT_XRC_SEND: return reliable;
    default: return 0;
    }
}

int wr_builder_init(struct vqp *qp, uint64_t send_ops_flags)
{
    struct ibv_qp_ex *ex = &qp->ex;
#ifdef HAVE_VERBS_FLUSH
    ex->wr_flush = wr_flush;
#endif
    if (send_ops_flags & ~operations_of(qp->init.qp_type))
        return EOPNOTSUPP;
    struct wr_builder *builder = calloc(1, sizeof *builder);
    if (!builder)
        return ENOMEM;
    pthread_mutex_init(&builder->lock, NULL);
    qp->builder = builder;
    ex->wr_bind_mw = wr_bind_mw;
    ex->wr_atomic_write = wr_atomic_write;
    ex->wr_send = wr_send;
    ex->wr_send_imm = wr_send_imm;
    ex->wr_send_inv = wr_send_inv;
    ex->wr_local_inv = wr_local_inv;
    ex->wr_rdma_write = wr_rdma_write;
    ex->wr_rdma_write_imm = wr_rdma_write_imm;
    ex->wr_rdma_read = wr_rdma_read;
    ex->wr_atomic_cmp_swp = wr_cmp_swp;
    ex->wr_atomic_fetch_add = wr_fetch_add;
    ex->wr_set_xrc_srqn = set_xrc_srqn;
    ex->wr_set_ud_addr = set_ud_addr;
    ex->wr_set_sge = set_sge;
    ex->wr_set_sge_list = set_sge_list;
    ex->wr_set_inline_data = set_inline_data;
    ex->wr_set_inline_data_list = set_inline_data_list;
    ex->wr_start = start_batch;
    ex->wr_complete = complete_batch;
    ex->wr_abort = abort_batch;
    return 0;
}

void wr_builder_free(struct vqp *qp)
{
    struct wr_builder *builder = qp->builder;
    if (!builder)
        return;
    free(builder->requests.bytes);
    free(builder->sges.bytes);
    free(builder->data.bytes);
    pthread_mutex_destroy(&builder->lock);
    free(builder);
    qp->builder = NULL;
}
