/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Both: opens two QPs `a` and `b` in one process, connects them to each other, and registers a
 * buffer for each. For test programs with one function for each feature. Header only, because each
 * of these programs is one file.
 */
#ifndef PROGRAMS_BOTH_H
#define PROGRAMS_BOTH_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "endpoint.h"
#include "must.h"

#define BUF 8192u
#define ALL_ACCESS                                                                                 \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                   \
     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

struct both {
    struct endpoint a, b;
    struct ibv_mr *mr_a, *mr_b;
    char *buf_a, *buf_b;
};

static inline struct ibv_qp_init_attr both_init(enum ibv_qp_type type)
{
    return (struct ibv_qp_init_attr){
        .qp_type = type,
        .cap = {.max_send_wr = 16,
                .max_recv_wr = 16,
                .max_send_sge = 2,
                .max_recv_sge = 2,
                .max_inline_data = 64},
    };
}

static inline void both_connect(struct both *both)
{
    const struct endpoint_address a = {.qpn = both->a.qp->qp_num, .psn = 100, .gid = both->a.gid};
    const struct endpoint_address b = {.qpn = both->b.qp->qp_num, .psn = 200, .gid = both->b.gid};
    endpoint_connect(&both->a, &b, a.psn);
    endpoint_connect(&both->b, &a, b.psn);
}

static inline void both_memory(struct both *both)
{
    MUST((both->buf_a = calloc(1, BUF)) != NULL && (both->buf_b = calloc(1, BUF)) != NULL);
    MUST((both->mr_a = ibv_reg_mr(both->a.pd, both->buf_a, BUF, ALL_ACCESS)) != NULL);
    MUST((both->mr_b = ibv_reg_mr(both->b.pd, both->buf_b, BUF, ALL_ACCESS)) != NULL);
    for (unsigned i = 0; i < BUF; i++)
        both->buf_a[i] = (char)(i * 7 + i / 256);
}

static inline void both_open(struct both *both, struct ibv_context *context)
{
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    memset(both, 0, sizeof *both);
    endpoint_open(&both->a, context, 32, &init);
    init = both_init(IBV_QPT_RC);
    endpoint_open(&both->b, context, 32, &init);
    both_memory(both);
    both_connect(both);
}

static inline void both_close(struct both *both)
{
    MUST(ibv_dereg_mr(both->mr_a) == 0 && ibv_dereg_mr(both->mr_b) == 0);
    endpoint_close(&both->a);
    endpoint_close(&both->b);
    free(both->buf_a);
    free(both->buf_b);
}

/* Posts a WRITE of `len` bytes from the start of buf_a to the remote address `addr` with R_Key
 * `rkey`, and waits for its completion. Returns the status of the completion. */
static inline enum ibv_wc_status both_write(struct both *both, uint64_t addr, uint32_t rkey,
                                            uint32_t len)
{
    struct ibv_sge sge = {(uintptr_t)both->buf_a, len, both->mr_a->lkey};
    struct ibv_send_wr wr = {.wr_id = 77,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {addr, rkey}},
                       *bad = NULL;
    MUST(ibv_post_send(both->a.qp, &wr, &bad) == 0);
    struct ibv_wc wc = endpoint_wait(both->a.cq);
    MUST(wc.wr_id == 77 && wc.qp_num == both->a.qp->qp_num);
    return wc.status;
}

static inline void post_recv(struct ibv_qp *qp, struct ibv_mr *mr, uint64_t wr_id, uint32_t len)
{
    struct ibv_sge sge = {(uintptr_t)mr->addr, len, mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
    MUST(ibv_post_recv(qp, &wr, &bad) == 0);
}

static inline void post_send(struct ibv_qp *qp, struct ibv_mr *mr, uint64_t wr_id, uint32_t len,
                             unsigned flags)
{
    struct ibv_sge sge = {(uintptr_t)mr->addr, len, mr->lkey};
    struct ibv_send_wr wr = {.wr_id = wr_id,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = flags},
                       *bad = NULL;
    MUST(ibv_post_send(qp, &wr, &bad) == 0);
}

#define BOTH_QKEY 0x11111111u

/* Creates a UD QP in RTS, with a separate PD and CQ. The caller sets ep->gid and ep->gid_idx. */
static inline void both_ud_open(struct endpoint *ep, struct ibv_context *context)
{
    struct ibv_qp_init_attr init = both_init(IBV_QPT_UD);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = BOTH_QKEY};
    ep->context = context;
    MUST((ep->pd = ibv_alloc_pd(context)) != NULL);
    MUST((ep->cq = ibv_create_cq(context, 32, NULL, NULL, 0)) != NULL);
    init.send_cq = init.recv_cq = ep->cq;
    MUST((ep->qp = ibv_create_qp(ep->pd, &init)) != NULL);
    MUST(ibv_modify_qp(ep->qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
    attr.qp_state = IBV_QPS_RTR;
    MUST(ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE) == 0);
    attr.qp_state = IBV_QPS_RTS;
    MUST(ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
}

/* A test case. both_run() runs all cases of a table, or if the program has an argument, only the
 * case with this name. */
struct both_case {
    const char *name;
    void (*run)(void);
};

static inline int both_run(const struct both_case *cases, size_t cnt, int argc, char **argv)
{
    setbuf(stdout, NULL);
    for (size_t i = 0; i < cnt; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0)
            continue;
        printf("%-28s", cases[i].name);
        cases[i].run();
        printf(" ok\n");
    }
    puts("all cases passed");
    return 0;
}

#endif
