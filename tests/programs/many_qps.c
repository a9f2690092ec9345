/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Many QPs: creates many QPs in one process (default 10,000), connects them in pairs, and sends a
 * different message over each pair. All QPs exist at the same time. With a second argument, the
 * program prints a line when the QPs are connected, and continues when its standard input ends.
 */
#include "both.h"

int main(int argc, char **argv)
{
    unsigned pairs = argc > 1 ? (unsigned)atoi(argv[1]) / 2 : 5000;
    struct ibv_context *context = endpoint_device(NULL);
    struct endpoint ep = {.context = context};
    ep.gid_idx = endpoint_gid(context, &ep.gid);
    MUST((ep.pd = ibv_alloc_pd(context)) != NULL);
    MUST((ep.cq = ibv_create_cq(context, 2048, NULL, NULL, 0)) != NULL);
    struct ibv_qp **qps = calloc(2 * pairs, sizeof *qps);
    uint32_t *words = calloc(2 * pairs, sizeof *words);
    MUST(qps && words);
    struct ibv_mr *mr = ibv_reg_mr(ep.pd, words, 2 * pairs * sizeof *words, ALL_ACCESS);
    MUST(mr != NULL);
    for (unsigned i = 0; i < 2 * pairs; i++) {
        struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
        struct ibv_qp_attr attr = {
            .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
        init.cap.max_send_wr = init.cap.max_recv_wr = 1;
        init.send_cq = init.recv_cq = ep.cq;
        MUST((qps[i] = ibv_create_qp(ep.pd, &init)) != NULL);
        MUST(ibv_modify_qp(qps[i], &attr,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
             0);
    }
    for (unsigned i = 0; i < 2 * pairs; i++) {
        const struct endpoint_address peer = {
            .qpn = qps[i ^ 1]->qp_num, .psn = i ^ 1, .gid = ep.gid};
        ep.qp = qps[i];
        endpoint_connect(&ep, &peer, i);
    }
    if (argc > 2) {
        puts("connected");
        fflush(stdout);
        while (getchar() != EOF)
            ;
    }
    for (unsigned i = 0; i < pairs; i++)
        words[i] = 0x9E3779B9u * (i + 1);
    for (unsigned i = 0, done = 0; done < pairs;) {
        for (; i < pairs && i - done < 1000; i++) {
            struct ibv_sge sge = {(uintptr_t)&words[i], 4, mr->lkey};
            struct ibv_send_wr wr = {.wr_id = i,
                                     .sg_list = &sge,
                                     .num_sge = 1,
                                     .opcode = IBV_WR_RDMA_WRITE,
                                     .send_flags = IBV_SEND_SIGNALED,
                                     .wr.rdma = {(uintptr_t)&words[pairs + i], mr->rkey}},
                               *bad = NULL;
            MUST(ibv_post_send(qps[2 * i], &wr, &bad) == 0);
        }
        struct ibv_wc wc = endpoint_wait(ep.cq);
        MUST(wc.status == IBV_WC_SUCCESS && wc.qp_num == qps[2 * wc.wr_id]->qp_num);
        done++;
    }
    for (unsigned i = 0; i < pairs; i++)
        MUST(words[pairs + i] == 0x9E3779B9u * (i + 1));
    for (unsigned i = 0; i < 2 * pairs; i++)
        MUST(ibv_destroy_qp(qps[i]) == 0);
    MUST(ibv_dereg_mr(mr) == 0 && ibv_destroy_cq(ep.cq) == 0 && ibv_dealloc_pd(ep.pd) == 0);
    MUST(ibv_close_device(context) == 0);
    printf("%u QPs: each wrote the expected bytes\n", 2 * pairs);
    free(qps);
    free(words);
    return 0;
}
