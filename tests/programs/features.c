/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Features: uses features that few programs use, and checks the effect of each. These are memory
 * windows, reregistration, resizing, multicast, address handles, the functions ibv_wr_* and
 * ibv_cq_ex, and parent domains. Also checks the errno of features that the device does not
 * support.
 */
#include <endian.h>
#include <time.h>
#include <unistd.h>
#include "both.h"

static struct ibv_context *context;

/* ---- memory windows and regions -------------------------------------------------------------- */

static void window_type_1(void)
{
    struct both both;
    both_open(&both, context);
    struct ibv_mw *mw = ibv_alloc_mw(both.b.pd, IBV_MW_TYPE_1);
    MUST(mw != NULL);
    struct ibv_mw_bind bind = {
        .wr_id = 5,
        .send_flags = IBV_SEND_SIGNALED,
        .bind_info = {both.mr_b, (uintptr_t)both.buf_b + 100, 200, IBV_ACCESS_REMOTE_WRITE}};
    uint32_t before = mw->rkey;
    MUST(ibv_bind_mw(both.b.qp, mw, &bind) == 0 && mw->rkey != before);
    struct ibv_wc wc = endpoint_wait(both.b.cq);
    MUST(wc.status == IBV_WC_SUCCESS && wc.wr_id == 5 && wc.opcode == IBV_WC_BIND_MW);
    MUST(both_write(&both, (uintptr_t)both.buf_b + 100, mw->rkey, 200) == IBV_WC_SUCCESS);
    MUST(memcmp(both.buf_a, both.buf_b + 100, 200) == 0);
    MUST(ibv_dereg_mr(both.mr_b) == EBUSY);
    MUST(both_write(&both, (uintptr_t)both.buf_b + 99, mw->rkey, 1) == IBV_WC_REM_ACCESS_ERR);
    MUST(ibv_dealloc_mw(mw) == 0);
    both_close(&both);
}

/* A query sets ibv_qp.state only if the mask contains the state. UCX posts only while ibv_qp.state
 * is RTS, and queries the address of a QP that failed. */
static void queried_state(void)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    struct both both;
    both_open(&both, context);
    MUST(both_write(&both, (uintptr_t)both.buf_b, both.mr_b->rkey + 1, 8) == IBV_WC_REM_ACCESS_ERR);
    MUST(ibv_query_qp(both.a.qp, &attr, IBV_QP_AV | IBV_QP_DEST_QPN, &init) == 0);
    MUST(both.a.qp->state == IBV_QPS_RTS && attr.dest_qp_num == both.b.qp->qp_num);
    MUST(ibv_query_qp(both.a.qp, &attr, IBV_QP_STATE, &init) == 0);
    MUST(both.a.qp->state == IBV_QPS_ERR && attr.qp_state == IBV_QPS_ERR);
    both_close(&both);
}

static void window_type_2(void)
{
    struct both both;
    both_open(&both, context);
    struct ibv_mw *mw = ibv_alloc_mw(both.b.pd, IBV_MW_TYPE_2);
    MUST(mw != NULL);
    struct ibv_send_wr bind = {.wr_id = 6,
                               .opcode = IBV_WR_BIND_MW,
                               .send_flags = IBV_SEND_SIGNALED,
                               .bind_mw = {mw,
                                           ibv_inc_rkey(mw->rkey),
                                           {both.mr_b, (uintptr_t)both.buf_b, 64,
                                            IBV_ACCESS_REMOTE_WRITE}}},
                       *bad = NULL;
    /* Must fail: ibv_bind_mw() binds only windows of type 1. */
    MUST(ibv_bind_mw(both.b.qp, mw, &(struct ibv_mw_bind){.wr_id = 1}) != 0);
    MUST(ibv_post_send(both.b.qp, &bind, &bad) == 0);
    MUST(endpoint_wait(both.b.cq).status == IBV_WC_SUCCESS);
    mw->rkey = bind.bind_mw.rkey;
    MUST(both_write(&both, (uintptr_t)both.buf_b, mw->rkey, 64) == IBV_WC_SUCCESS);
    MUST(memcmp(both.buf_a, both.buf_b, 64) == 0);
    /* The peer invalidates the window with a SEND with Invalidate; a WRITE to it must then fail. */
    post_recv(both.b.qp, both.mr_b, 9, 64);
    struct ibv_sge sge = {(uintptr_t)both.buf_a, 8, both.mr_a->lkey};
    struct ibv_send_wr inv = {.wr_id = 7,
                              .sg_list = &sge,
                              .num_sge = 1,
                              .opcode = IBV_WR_SEND_WITH_INV,
                              .send_flags = IBV_SEND_SIGNALED,
                              .invalidate_rkey = mw->rkey};
    MUST(ibv_post_send(both.a.qp, &inv, &bad) == 0);
    MUST(endpoint_wait(both.a.cq).status == IBV_WC_SUCCESS);
    struct ibv_wc wc = endpoint_wait(both.b.cq);
    MUST(wc.status == IBV_WC_SUCCESS && wc.wc_flags & IBV_WC_WITH_INV &&
         wc.invalidated_rkey == mw->rkey);
    MUST(both_write(&both, (uintptr_t)both.buf_b, mw->rkey, 1) == IBV_WC_REM_ACCESS_ERR);
    MUST(ibv_dealloc_mw(mw) == 0);
    both_close(&both);
}

/* Neither the peer nor a work request can invalidate the region of ibv_reg_mr(). Hardware and Linux
 * refuse such an invalidation, so the device must refuse it, too (R204). */
static void plain_region_stays(void)
{
    struct both both;
    both_open(&both, context);
    post_recv(both.b.qp, both.mr_b, 9, 64);
    struct ibv_sge sge = {(uintptr_t)both.buf_a, 8, both.mr_a->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND_WITH_INV,
                             .send_flags = IBV_SEND_SIGNALED,
                             .invalidate_rkey = both.mr_b->rkey},
                       *bad = NULL;
    MUST(ibv_post_send(both.a.qp, &wr, &bad) == 0);
    MUST(endpoint_wait(both.a.cq).status == IBV_WC_REM_ACCESS_ERR);
    both_close(&both);
    both_open(&both, context);
    wr = (struct ibv_send_wr){.opcode = IBV_WR_LOCAL_INV,
                              .send_flags = IBV_SEND_SIGNALED,
                              .invalidate_rkey = both.mr_b->rkey};
    MUST(ibv_post_send(both.b.qp, &wr, &bad) == 0);
    MUST(endpoint_wait(both.b.cq).status == IBV_WC_MW_BIND_ERR);
    both_close(&both);
}

/* The device reports whether its windows of type 2 are 2A or 2B; the environment variable
 * RNIC_WINDOWS selects the type. A QP with a bound 2A window cannot be destroyed. */
static void window_kind(void)
{
    struct both both;
    struct ibv_device_attr attr;
    MUST(ibv_query_device(context, &attr) == 0);
    bool is_2a = attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A;
    const char *asked = getenv("RNIC_WINDOWS");
    MUST(is_2a == !(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B));
    MUST(is_2a == (asked && strcmp(asked, "2A") == 0));
    both_open(&both, context);
    struct ibv_mw *mw = ibv_alloc_mw(both.b.pd, IBV_MW_TYPE_2);
    MUST(mw != NULL);
    struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
                             .send_flags = IBV_SEND_SIGNALED,
                             .bind_mw = {mw,
                                         ibv_inc_rkey(mw->rkey),
                                         {both.mr_b, (uintptr_t)both.buf_b, 64,
                                          IBV_ACCESS_REMOTE_WRITE}}},
                       *bad = NULL;
    MUST(ibv_post_send(both.b.qp, &wr, &bad) == 0);
    MUST(endpoint_wait(both.b.cq).status == IBV_WC_SUCCESS);
    MUST(ibv_dereg_mr(both.mr_b) == EBUSY);
    if (is_2a) {
        MUST(ibv_destroy_qp(both.b.qp) == EBUSY);
        MUST(both_write(&both, (uintptr_t)both.buf_b, wr.bind_mw.rkey, 64) == IBV_WC_SUCCESS);
        wr = (struct ibv_send_wr){.opcode = IBV_WR_LOCAL_INV,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .invalidate_rkey = wr.bind_mw.rkey};
        MUST(ibv_post_send(both.b.qp, &wr, &bad) == 0);
        MUST(endpoint_wait(both.b.cq).status == IBV_WC_SUCCESS);
    }
    MUST(ibv_destroy_qp(both.b.qp) == 0);
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    init.send_cq = init.recv_cq = both.b.cq;
    MUST((both.b.qp = ibv_create_qp(both.b.pd, &init)) != NULL);
    MUST(ibv_dealloc_mw(mw) == 0);
    both_close(&both);
}

static void reregister(void)
{
    struct both both;
    static char other[BUF];
    both_open(&both, context);
    uint32_t key = both.mr_b->rkey;
    MUST(ibv_rereg_mr(both.mr_b, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, sizeof other, 0) ==
         0);
    MUST(both_write(&both, (uintptr_t)other + 10, both.mr_b->rkey, 500) == IBV_WC_SUCCESS);
    MUST(memcmp(other + 10, both.buf_a, 500) == 0 && both.mr_b->addr == other);
    MUST(both.buf_b[10] == 0);
    MUST(ibv_rereg_mr(both.mr_b, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
                      IBV_ACCESS_REMOTE_READ) == 0);
    (void)key; /* not compared, because a reregistration may change the keys */
    MUST(both_write(&both, (uintptr_t)other, both.mr_b->rkey, 1) == IBV_WC_REM_ACCESS_ERR);
    MUST(ibv_rereg_mr(both.mr_b, 1 << 20, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT);
    both_close(&both);
}

static void iova(void)
{
    struct both both;
    both_open(&both, context);
    struct ibv_mr *mr = ibv_reg_mr_iova(both.b.pd, both.buf_b + 64, 128, 0x4000, ALL_ACCESS);
    MUST(mr != NULL);
    MUST(both_write(&both, 0x4010, mr->rkey, 16) == IBV_WC_SUCCESS);
    MUST(memcmp(both.buf_b + 80, both.buf_a, 16) == 0);
    uint32_t rkey = mr->rkey;
    MUST(ibv_dereg_mr(mr) == 0);
    MUST(both_write(&both, 0x4010, rkey, 16) == IBV_WC_REM_ACCESS_ERR);
    both_close(&both);
}

/* ---- queues and domains ---------------------------------------------------------------------- */

static void resize(void)
{
    struct both both;
    both_open(&both, context);
    for (unsigned i = 0; i < 8; i++) {
        post_recv(both.b.qp, both.mr_b, i, 64);
        post_send(both.a.qp, both.mr_a, 50 + i, 8, IBV_SEND_SIGNALED);
    }
    for (unsigned i = 0; i < 8; i++)
        MUST(endpoint_wait(both.a.cq).wr_id == 50 + i);
    MUST(ibv_resize_cq(both.b.cq, 100) == 0 && both.b.cq->cqe >= 100);
    /* Must fail: the CQ would get 4 entries, but contains 8 completions. */
    MUST(ibv_resize_cq(both.b.cq, 3) != 0);
    MUST(ibv_resize_cq(both.b.cq, 0) == EINVAL);
    for (unsigned i = 0; i < 8; i++)
        MUST(endpoint_wait(both.b.cq).wr_id == i);
    MUST(ibv_resize_cq(both.b.cq, 4) == 0);
    both_close(&both);
}

static void srq_modify(void)
{
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 2}};
    struct ibv_srq *srq = ibv_create_srq(pd, &init);
    struct ibv_srq_attr attr = {.max_wr = 64, .srq_limit = 3};
    MUST(srq != NULL);
    MUST(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) == 0);
    memset(&attr, 0, sizeof attr);
    MUST(ibv_query_srq(srq, &attr) == 0 && attr.max_wr >= 64 && attr.srq_limit == 3 &&
         attr.max_sge >= 2);
    attr.srq_limit = 1000000;
    MUST(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == EINVAL);
    MUST(ibv_dealloc_pd(pd) == EBUSY);
    MUST(ibv_destroy_srq(srq) == 0 && ibv_dealloc_pd(pd) == 0);
}

static void in_use(void)
{
    struct both both;
    both_open(&both, context);
    MUST(ibv_dealloc_pd(both.a.pd) == EBUSY);
    MUST(ibv_destroy_cq(both.a.cq) == EBUSY);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, channel, 0);
    MUST(channel && cq && ibv_destroy_comp_channel(channel) == EBUSY);
    MUST(ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(channel) == 0);
    both_close(&both);
}

static void parent_domain(void)
{
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_td *td = ibv_alloc_td(context, &(struct ibv_td_init_attr){0});
    MUST(pd && td);
    struct ibv_pd *parent =
        ibv_alloc_parent_domain(context, &(struct ibv_parent_domain_init_attr){.pd = pd, .td = td});
    char buf[16];
    struct ibv_mr *mr = parent ? ibv_reg_mr(parent, buf, sizeof buf, 0) : NULL;
    MUST(parent && mr && ibv_dealloc_td(td) == EBUSY);
    MUST(ibv_dealloc_pd(pd) == EBUSY);
    /* A CQ, a QP and an SRQ use the parent domain, one after the other. */
    struct ibv_cq_init_attr_ex cq_attr = {
        .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent};
    struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &cq_attr);
    MUST(cq && ibv_dealloc_pd(parent) == EBUSY);
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
    struct ibv_qp *qp = ibv_create_qp(parent, &init);
    cq_attr.comp_mask = 0;
    struct ibv_cq_ex *plain = ibv_create_cq_ex(context, &cq_attr);
    MUST(qp && plain && ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(init.send_cq) == 0);
    init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(plain);
    MUST((qp = ibv_create_qp(parent, &init)) && ibv_dealloc_pd(parent) == EBUSY);
    MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(init.send_cq) == 0);
    struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 1}};
    struct ibv_srq *srq = ibv_create_srq(parent, &srq_attr);
    MUST(srq && ibv_dealloc_pd(parent) == EBUSY && ibv_destroy_srq(srq) == 0);
    MUST(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(parent) == 0 && ibv_dealloc_td(td) == 0 &&
         ibv_dealloc_pd(pd) == 0);
}

/* ---- ibv_wr_* and ibv_cq_ex ------------------------------------------------------------------ */

static void extended(struct both *both, struct ibv_cq_ex **cq, struct ibv_qp_ex **qp)
{
    struct ibv_cq_init_attr_ex cq_attr = {
        .cqe = 64,
        .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
    };
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_RC,
        .cap = both_init(IBV_QPT_RC).cap,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                          IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                          IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                          IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
    };
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    memset(both, 0, sizeof *both);
    endpoint_open(&both->a, context, 32, &init);
    MUST(ibv_destroy_qp(both->a.qp) == 0 && ibv_destroy_cq(both->a.cq) == 0);
    MUST((*cq = ibv_create_cq_ex(context, &cq_attr)) != NULL);
    both->a.cq = ibv_cq_ex_to_cq(*cq);
    attr.pd = both->a.pd;
    attr.send_cq = attr.recv_cq = both->a.cq;
    MUST((both->a.qp = ibv_create_qp_ex(context, &attr)) != NULL);
    MUST((*qp = ibv_qp_to_qp_ex(both->a.qp)) != NULL);
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    MUST(ibv_modify_qp(both->a.qp, &to,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    init = both_init(IBV_QPT_RC);
    endpoint_open(&both->b, context, 32, &init);
    both_memory(both);
    both_connect(both);
}

/* Waits up to ten seconds for the next completion of an ibv_cq_ex. Ends the program unless it has
 * this WR ID, opcode and QPN. Calls ibv_end_poll(). */
static void next_is(struct ibv_cq_ex *cq, uint64_t wr_id, enum ibv_wc_opcode opcode, uint32_t qpn)
{
    struct ibv_poll_cq_attr attr = {0};
    int result = ENOENT;
    for (time_t end = time(NULL) + 10; result == ENOENT && time(NULL) < end;)
        result = ibv_start_poll(cq, &attr);
    MUST(result == 0);
    MUST(cq->wr_id == wr_id && cq->status == IBV_WC_SUCCESS);
    MUST(ibv_wc_read_opcode(cq) == opcode && ibv_wc_read_qp_num(cq) == qpn);
    MUST(ibv_wc_read_completion_ts(cq) != 0 && ibv_wc_read_vendor_err(cq) == 0);
    MUST(ibv_wc_read_slid(cq) == 0 && ibv_wc_read_sl(cq) == 0 &&
         ibv_wc_read_dlid_path_bits(cq) == 0);
    ibv_end_poll(cq);
}

static void work_requests(void)
{
    struct both both;
    struct ibv_cq_ex *cq;
    struct ibv_qp_ex *qp;
    extended(&both, &cq, &qp);
    uint32_t lkey = both.mr_a->lkey, rkey = both.mr_b->rkey, qpn = both.a.qp->qp_num;
    uintptr_t a = (uintptr_t)both.buf_a, b = (uintptr_t)both.buf_b;
    char words[] = "one two";
    struct ibv_wc wc;
    qp->wr_flags = IBV_SEND_SIGNALED;
    /* First batch: three empty messages, one with an empty SGE list, one with empty inline data,
     * and one without any setter call. All must succeed. */
    ibv_wr_start(qp);
    for (unsigned i = 0; i < 3; i++) {
        qp->wr_id = i;
        ibv_wr_rdma_write(qp, rkey, b);
        if (i == 0)
            ibv_wr_set_sge_list(qp, 0, NULL);
        else if (i == 1)
            ibv_wr_set_inline_data(qp, NULL, 0);
    }
    MUST(ibv_wr_complete(qp) == 0);
    for (unsigned i = 0; i < 3; i++)
        next_is(cq, i, IBV_WC_RDMA_WRITE, qpn);
    /* Second batch: seven requests of different kinds. All must succeed. */
    post_recv(both.b.qp, both.mr_b, 1, 64);
    post_recv(both.b.qp, both.mr_b, 2, 64);
    ibv_wr_start(qp);
    qp->wr_id = 10;
    ibv_wr_rdma_write(qp, rkey, b + 1000);
    ibv_wr_set_sge_list(qp, 2, (struct ibv_sge[]){{a, 100, lkey}, {a + 500, 50, lkey}});
    qp->wr_id = 11;
    ibv_wr_rdma_write(qp, rkey, b + 2000);
    ibv_wr_set_inline_data(qp, (char[]){"inline"}, 7);
    qp->wr_id = 12;
    ibv_wr_rdma_write_imm(qp, rkey, b + 2100, htobe32(0xabcd));
    ibv_wr_set_inline_data_list(qp, 2, (struct ibv_data_buf[]){{words, 4}, {words + 4, 4}});
    qp->wr_id = 13;
    ibv_wr_send_imm(qp, htobe32(0x1234));
    ibv_wr_set_sge(qp, lkey, a, 33);
    qp->wr_id = 14;
    ibv_wr_rdma_read(qp, rkey, b + 2000);
    ibv_wr_set_sge(qp, lkey, a + 4000, 7);
    memcpy(both.buf_b + 3000, &(uint64_t){41}, 8);
    qp->wr_id = 15;
    ibv_wr_atomic_fetch_add(qp, rkey, b + 3000, 1);
    ibv_wr_set_sge(qp, lkey, a + 4096, 8);
    qp->wr_id = 16;
    ibv_wr_atomic_cmp_swp(qp, rkey, b + 3000, 42, 99);
    ibv_wr_set_sge(qp, lkey, a + 4104, 8);
    MUST(ibv_wr_complete(qp) == 0);
    static const enum ibv_wc_opcode opcodes[] = {
        IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_SEND,
        IBV_WC_RDMA_READ,  IBV_WC_FETCH_ADD,  IBV_WC_COMP_SWAP};
    for (unsigned i = 0; i < 7; i++)
        next_is(cq, 10 + i, opcodes[i], qpn);
    MUST(memcmp(both.buf_b + 1000, both.buf_a, 100) == 0);
    MUST(memcmp(both.buf_b + 1100, both.buf_a + 500, 50) == 0);
    MUST(strcmp(both.buf_b + 2000, "inline") == 0 && strcmp(both.buf_b + 2100, "one two") == 0);
    MUST(strcmp(both.buf_a + 4000, "inline") == 0);
    uint64_t word;
    MUST(memcmp(both.buf_a + 4096, &(uint64_t){41}, 8) == 0);
    MUST(memcmp(both.buf_a + 4104, &(uint64_t){42}, 8) == 0);
    memcpy(&word, both.buf_b + 3000, 8);
    MUST(word == 99);
    wc = endpoint_wait(both.b.cq);
    MUST(wc.wr_id == 1 && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.imm_data == htobe32(0xabcd));
    wc = endpoint_wait(both.b.cq);
    MUST(wc.wr_id == 2 && wc.opcode == IBV_WC_RECV && wc.imm_data == htobe32(0x1234) &&
         wc.byte_len == 33);
    /* Batches that are aborted or refused: none of their requests may be sent. */
    ibv_wr_start(qp);
    ibv_wr_rdma_write(qp, rkey, b);
    ibv_wr_set_sge(qp, lkey, a, 8);
    ibv_wr_abort(qp);
    static char big[4096];
    ibv_wr_start(qp);
    ibv_wr_rdma_write(qp, rkey, b);
    ibv_wr_set_sge(qp, lkey, a, 8);
    ibv_wr_rdma_write(qp, rkey, b);
    ibv_wr_set_inline_data(qp, big, sizeof big);
    MUST(ibv_wr_complete(qp) != 0);
    ibv_wr_start(qp);
    for (unsigned i = 0; i < 100; i++) { /* more requests than the send queue can store */
        ibv_wr_rdma_write(qp, rkey, b);
        ibv_wr_set_sge(qp, lkey, a, 8);
    }
    MUST(ibv_wr_complete(qp) == ENOMEM);
    ibv_wr_start(qp);
    ibv_wr_rdma_write(qp, rkey, b); /* this request is valid, but the next one is not */
    ibv_wr_set_sge(qp, lkey, a, 8);
    ibv_wr_atomic_fetch_add(qp, rkey, b + 3000, 1);
    ibv_wr_set_sge(qp, lkey, a, 4); /* invalid: an atomic has 8 bytes */
    MUST(ibv_wr_complete(qp) == EINVAL);
    usleep(20000);
    MUST(ibv_start_poll(cq, &(struct ibv_poll_cq_attr){0}) == ENOENT);
    /* ibv_post_send() must also work on a QP that was created for ibv_wr_*. */
    MUST(both_write(&both, b, rkey, 64) == IBV_WC_SUCCESS);
    both_close(&both);
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    MUST(clock_gettime(clock, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The timestamp of a completion must be the time when the request completed, not the time when the
 * program polls the completion. */
static void completion_time(void)
{
    struct both both;
    struct ibv_cq_ex *cq;
    struct ibv_qp_ex *qp;
    const struct timespec nap = {.tv_nsec = 1000000};
    extended(&both, &cq, &qp);
    uint64_t start = now_ns(CLOCK_MONOTONIC), wall = now_ns(CLOCK_REALTIME);
    volatile char *last = both.buf_b + 63;
    struct ibv_sge sge = {(uintptr_t)both.buf_a, 64, both.mr_a->lkey};
    struct ibv_send_wr wr = {.wr_id = 7,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {(uintptr_t)both.buf_b, both.mr_b->rkey}},
                       *bad = NULL;
    MUST(ibv_post_send(both.a.qp, &wr, &bad) == 0);
    while (*last != both.buf_a[63])
        nanosleep(&nap, NULL);
    /* The data has arrived, but perhaps not the ACK. In that case the timestamp is a bit later than
     * now, but still before the poll. */
    for (unsigned i = 0; i < 300; i++)
        nanosleep(&nap, NULL);
    uint64_t before_poll = now_ns(CLOCK_MONOTONIC);
    struct ibv_poll_cq_attr attr = {0};
    int result = ENOENT;
    for (time_t end = time(NULL) + 10; result == ENOENT && time(NULL) < end;)
        result = ibv_start_poll(cq, &attr);
    MUST(result == 0 && cq->wr_id == 7);
    uint64_t at = ibv_wc_read_completion_ts(cq), wall_at = ibv_wc_read_completion_wallclock_ns(cq);
    MUST(at >= start && at < before_poll);
    MUST(wall_at + 1000000 >= wall && wall_at + (before_poll - at) / 2 < now_ns(CLOCK_REALTIME));
    struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
    MUST(ibv_query_rt_values_ex(context, &values) == 0);
    /* tv_nsec is the whole value of the counter that also provides the timestamps of completions,
     * as with mlx5. */
    MUST(values.raw_clock.tv_sec == 0 && (uint64_t)values.raw_clock.tv_nsec > at);
    ibv_end_poll(cq);
    both_close(&both);
}

/* Waits until all requests of a QP are complete. Afterwards the QP accepts no more requests. */
static void drain(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
    struct ibv_async_event event;
    MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
    MUST(ibv_get_async_event(context, &event) == 0);
    MUST(event.event_type == IBV_EVENT_SQ_DRAINED && event.element.qp == qp);
    ibv_ack_async_event(&event);
}

static void next_poll(void)
{
    struct both both;
    struct ibv_cq_ex *cq;
    struct ibv_qp_ex *qp;
    extended(&both, &cq, &qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_start(qp);
    for (qp->wr_id = 0; qp->wr_id < 5; qp->wr_id++) {
        ibv_wr_rdma_write(qp, both.mr_b->rkey, (uintptr_t)both.buf_b);
        ibv_wr_set_sge(qp, both.mr_a->lkey, (uintptr_t)both.buf_a, 8);
    }
    MUST(ibv_wr_complete(qp) == 0);
    drain(both.a.qp); /* waits until all requests are complete */
    struct ibv_poll_cq_attr attr = {0};
    MUST(ibv_start_poll(cq, &attr) == 0 && cq->wr_id == 0);
    for (unsigned i = 1; i < 5; i++)
        MUST(ibv_next_poll(cq) == 0 && cq->wr_id == i);
    MUST(ibv_next_poll(cq) == ENOENT);
    ibv_end_poll(cq);
    MUST(ibv_start_poll(cq, &(struct ibv_poll_cq_attr){.comp_mask = 1}) == EINVAL);
    both_close(&both);
}

/* ---- datagrams and groups -------------------------------------------------------------------- */

static void ud_send(struct endpoint *ep, struct ibv_mr *mr, struct ibv_ah *ah, uint32_t qpn,
                    uint32_t len)
{
    struct ibv_sge sge = {(uintptr_t)mr->addr, len, mr->lkey};
    struct ibv_send_wr wr = {.wr_id = 3,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.ud = {ah, qpn, BOTH_QKEY}},
                       *bad = NULL;
    MUST(ibv_post_send(ep->qp, &wr, &bad) == 0);
    MUST(endpoint_wait(ep->cq).status == IBV_WC_SUCCESS);
}

static union ibv_gid group_of(uint8_t kind, uint8_t number)
{
    return (union ibv_gid){
        .raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = kind, [15] = number}};
}

/* Opens two UD QPs with their GIDs and memory. */
static void open_datagrams(struct both *both)
{
    memset(both, 0, sizeof *both);
    both_ud_open(&both->a, context);
    both->a.gid_idx = endpoint_gid(context, &both->a.gid);
    both_ud_open(&both->b, context);
    both->b.gid_idx = endpoint_gid(context, &both->b.gid);
    both_memory(both);
}

static void multicast(void)
{
    struct both both;
    open_datagrams(&both);
    union ibv_gid group = group_of(7, 9);
    struct ibv_ah_attr to = {
        .is_global = 1,
        .port_num = 1,
        .grh = {.dgid = group, .sgid_index = (uint8_t)both.a.gid_idx, .hop_limit = 1}};
    struct ibv_ah *ah = ibv_create_ah(both.a.pd, &to);
    MUST(ah != NULL);
    MUST(ibv_attach_mcast(both.b.qp, &group, 0) == 0);
    /* Must fail: the GID is not a multicast GID. */
    MUST(ibv_attach_mcast(both.b.qp, &both.b.gid, 0) == EINVAL);
    MUST(ibv_destroy_qp(both.b.qp) == EBUSY);
    post_recv(both.b.qp, both.mr_b, 4, 200);
    ud_send(&both.a, both.mr_a, ah, 0xffffff, 60);
    struct ibv_wc wc = endpoint_wait(both.b.cq);
    MUST(wc.status == IBV_WC_SUCCESS && wc.wr_id == 4 && wc.byte_len == 100 &&
         wc.src_qp == both.a.qp->qp_num && wc.wc_flags & IBV_WC_GRH);
    MUST(memcmp(both.buf_b + 40, both.buf_a, 60) == 0);
    MUST(ibv_detach_mcast(both.b.qp, &group, 0) == 0);
    MUST(ibv_detach_mcast(both.b.qp, &group, 0) == EINVAL);
    post_recv(both.b.qp, both.mr_b, 5, 200);
    ud_send(&both.a, both.mr_a, ah, 0xffffff, 60);
    usleep(50000);
    MUST(ibv_poll_cq(both.b.cq, 1, &wc) == 0);
    MUST(ibv_destroy_ah(ah) == 0);
    both_close(&both);
}

/* Attaches a QP to the same multicast group several times. The QP must be a member once, and its
 * membership must end when the context of the QP is closed. */
static void group_once(void)
{
    struct ibv_device_attr is;
    MUST(ibv_query_device(context, &is) == 0 && is.max_mcast_grp > 0 && is.max_mcast_grp < 255);
    const uint8_t most = (uint8_t)is.max_mcast_grp;
    struct endpoint ep = {0};
    both_ud_open(&ep, context);
    for (uint8_t i = 0; i <= most; i++) {
        const union ibv_gid group = group_of(8, i);
        MUST(ibv_attach_mcast(ep.qp, &group, 0) == 0);
        MUST(ibv_attach_mcast(ep.qp, &group, 0) == 0);
        MUST(ibv_detach_mcast(ep.qp, &group, 0) == 0);
        MUST(ibv_detach_mcast(ep.qp, &group, 0) == EINVAL);
    }
    for (uint8_t i = 0; i <= most; i++) {
        const union ibv_gid group = group_of(9, i);
        struct ibv_context *other = endpoint_device(NULL);
        struct endpoint lost = {0};
        both_ud_open(&lost, other);
        MUST(ibv_attach_mcast(lost.qp, &group, 0) == 0);
        MUST(ibv_close_device(other) == 0);
    }
    for (uint8_t i = 0; i <= most; i++) {
        const union ibv_gid group = group_of(10, i);
        MUST(ibv_attach_mcast(ep.qp, &group, 0) == (i < most ? 0 : ENOMEM));
    }
    for (uint8_t i = 0; i < most; i++) {
        const union ibv_gid group = group_of(10, i);
        MUST(ibv_detach_mcast(ep.qp, &group, 0) == 0);
    }
    endpoint_close(&ep);
}

/* A receiver creates an address handle from the completion of a datagram and answers with it. The
 * answer must reach the sender. */
static void answer(void)
{
    struct both both;
    open_datagrams(&both);
    struct ibv_ah_attr to = {
        .is_global = 1,
        .port_num = 1,
        .grh = {.dgid = both.b.gid, .sgid_index = (uint8_t)both.a.gid_idx, .hop_limit = 1}};
    struct ibv_ah *ah = ibv_create_ah(both.a.pd, &to);
    MUST(ah != NULL);
    post_recv(both.b.qp, both.mr_b, 4, 200);
    ud_send(&both.a, both.mr_a, ah, both.b.qp->qp_num, 10);
    struct ibv_wc wc = endpoint_wait(both.b.cq);
    struct ibv_grh *grh = (struct ibv_grh *)(void *)both.buf_b;
    struct ibv_ah_attr from;
    MUST(ibv_init_ah_from_wc(context, 1, &wc, grh, &from) == 0 && from.is_global &&
         memcmp(&from.grh.dgid, &both.a.gid, 16) == 0);
    struct ibv_ah *back = ibv_create_ah_from_wc(both.b.pd, &wc, grh, 1);
    MUST(back != NULL);
    post_recv(both.a.qp, both.mr_a, 8, 200);
    ud_send(&both.b, both.mr_b, back, wc.src_qp, 20);
    wc = endpoint_wait(both.a.cq);
    MUST(wc.wr_id == 8 && wc.byte_len == 60 && wc.src_qp == both.b.qp->qp_num);
    to.is_global = 0; /* must fail: RoCE has no LIDs, so an address without a GRH is invalid */
    MUST(ibv_create_ah(both.a.pd, &to) == NULL && errno == EINVAL);
    to.is_global = 1;
    to.grh.sgid_index = 200;
    MUST(ibv_create_ah(both.a.pd, &to) == NULL && errno == EINVAL);
    MUST(ibv_destroy_ah(ah) == 0 && ibv_destroy_ah(back) == 0);
    both_close(&both);
}

/* ---- features that the device lacks ---------------------------------------------------------- */

static void refused(void)
{
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
    char buf[64];
    union ibv_gid gid;
    __be16 pkey;
    struct ibv_port_attr port;
    MUST(pd && cq);
    errno = 0;
    MUST(ibv_create_counters(context, &(struct ibv_counters_init_attr){0}) == NULL &&
         errno == EOPNOTSUPP);
    errno = 0;
    MUST(ibv_create_wq(context, &(struct ibv_wq_init_attr){.pd = pd, .cq = cq}) == NULL &&
         errno == EOPNOTSUPP);
    errno = 0;
    MUST(ibv_reg_dmabuf_mr(pd, 0, 64, 0, -1, 0) == NULL && errno == EOPNOTSUPP);
    struct ibv_qp_init_attr init = both_init(IBV_QPT_DRIVER);
    init.send_cq = init.recv_cq = cq;
    errno = 0;
    MUST(ibv_create_qp(pd, &init) == NULL && errno == EOPNOTSUPP);
    init.qp_type = (enum ibv_qp_type)77;
    errno = 0;
    MUST(ibv_create_qp(pd, &init) == NULL && errno == EINVAL);
    errno = 0;
    MUST(ibv_reg_mr(pd, buf, sizeof buf, IBV_ACCESS_REMOTE_WRITE) == NULL && errno == EINVAL);
    errno = 0;
    MUST(ibv_create_cq(context, 0, NULL, NULL, 0) == NULL && errno == EINVAL);
    errno = 0;
    MUST(ibv_create_cq(context, 4, NULL, NULL, 99) == NULL && errno == EINVAL);
    MUST(ibv_query_port(context, 2, &port) == EINVAL);
    MUST(ibv_query_gid(context, 1, 1000, &gid) != 0);
    MUST(ibv_query_pkey(context, 1, 1000, &pkey) != 0);
    MUST(ibv_query_pkey(context, 1, 0, &pkey) == 0 && pkey == htobe16(0xffff));
    MUST(ibv_get_pkey_index(context, 1, htobe16(0xffff)) == 0);
    MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0);
}

/* Creates a QP and a CQ with the largest sizes that the device attributes report: must succeed. One
 * more WQE or CQ entry must fail. */
static void limits(void)
{
    struct ibv_device_attr_ex ex;
    MUST(ibv_query_device_ex(context, NULL, &ex) == 0);
    const struct ibv_device_attr *is = &ex.orig_attr;
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, is->max_cqe, NULL, NULL, 0);
    MUST(pd && cq);
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    init.send_cq = init.recv_cq = cq;
    init.cap = (struct ibv_qp_cap){.max_send_wr = (uint32_t)is->max_qp_wr,
                                   .max_recv_wr = (uint32_t)is->max_qp_wr,
                                   .max_send_sge = (uint32_t)is->max_sge,
                                   .max_recv_sge = (uint32_t)is->max_sge};
    struct ibv_qp *qp = ibv_create_qp(pd, &init);
    MUST(qp != NULL && ibv_destroy_qp(qp) == 0);
    init.cap.max_send_wr++;
    errno = 0;
    MUST(ibv_create_qp(pd, &init) == NULL && errno == EINVAL);
    errno = 0;
    MUST(ibv_create_cq(context, is->max_cqe + 1, NULL, NULL, 0) == NULL && errno == EINVAL);
    MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0);
}

/* Attaches as many QPs to a multicast group as the device allows. One more must fail with ENOMEM,
 * and must succeed after another QP was detached. */
static void full(void)
{
    struct ibv_device_attr is;
    MUST(ibv_query_device(context, &is) == 0);
    unsigned most = (unsigned)is.max_mcast_qp_attach;
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
    struct ibv_qp **qp = calloc(most + 1, sizeof *qp);
    const union ibv_gid group = group_of(7, 8);
    MUST(pd && cq && qp && most > 0);
    for (unsigned i = 0; i <= most; i++) {
        struct ibv_qp_init_attr init = both_init(IBV_QPT_UD);
        init.send_cq = init.recv_cq = cq;
        MUST((qp[i] = ibv_create_qp(pd, &init)) != NULL);
        MUST(ibv_attach_mcast(qp[i], &group, 0) == (i < most ? 0 : ENOMEM));
    }
    MUST(ibv_detach_mcast(qp[0], &group, 0) == 0);
    MUST(ibv_attach_mcast(qp[most], &group, 0) == 0);
    for (unsigned i = 0; i <= most; i++) {
        MUST(i == 0 || ibv_detach_mcast(qp[i], &group, 0) == 0);
        MUST(ibv_destroy_qp(qp[i]) == 0);
    }
    free(qp);
    MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0);
}

int main(int argc, char **argv)
{
    static const struct both_case cases[] = {
        {"window_type_1", window_type_1},
        {"window_type_2", window_type_2},
        {"queried_state", queried_state},
        {"plain_region_stays", plain_region_stays},
        {"window_kind", window_kind},
        {"reregister", reregister},
        {"iova", iova},
        {"resize", resize},
        {"srq_modify", srq_modify},
        {"in_use", in_use},
        {"parent_domain", parent_domain},
        {"work_requests", work_requests},
        {"completion_time", completion_time},
        {"next_poll", next_poll},
        {"multicast", multicast},
        {"group_once", group_once},
        {"answer", answer},
        {"refused", refused},
        {"limits", limits},
        {"full", full},
    };
    context = endpoint_device(NULL);
    int status = both_run(cases, sizeof cases / sizeof *cases, argc, argv);
    MUST(ibv_close_device(context) == 0);
    return status;
}
