/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Survive: two programs send WRITEs to each other until one of them is killed. The surviving
 * program prints the status of its first failed request. Its remaining requests must be flushed.
 * Then it closes all objects.
 *
 *   survive PORT [HOST]
 */
#include <unistd.h>
#include "both.h"

int main(int argc, char **argv)
{
    if (argc < 2)
        die("usage: survive PORT [HOST]");
    struct endpoint ep;
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    struct ibv_context *context = endpoint_device(NULL);
    char *buf = calloc(2, BUF);
    endpoint_open(&ep, context, 32, &init);
    struct ibv_mr *mr = ibv_reg_mr(ep.pd, buf, 2 * BUF, ALL_ACCESS);
    MUST(buf && mr);
    int fd = endpoint_tcp(argc > 2 ? argv[2] : NULL, atoi(argv[1]));
    const struct endpoint_address own = {.qpn = ep.qp->qp_num,
                                         .psn = (uint32_t)getpid() & 0xffffff,
                                         .rkey = mr->rkey,
                                         .addr = (uintptr_t)buf,
                                         .len = BUF,
                                         .gid = ep.gid};
    struct endpoint_address peer;
    endpoint_swap(fd, &own, &peer);
    endpoint_connect(&ep, &peer, own.psn);
    endpoint_swap(fd, &own, &peer); /* each side waits until its peer is ready */
    printf("running\n");
    fflush(stdout);
    struct ibv_sge sge = {(uintptr_t)buf + BUF, BUF, mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {peer.addr, peer.rkey}},
                       *bad = NULL;
    struct ibv_wc wc;
    unsigned posted = 0, done = 0;
    do {
        while (posted - done < 8) {
            wr.wr_id = posted++;
            MUST(ibv_post_send(ep.qp, &wr, &bad) == 0);
        }
        wc = endpoint_wait(ep.cq);
        MUST(wc.wr_id == done++);
    } while (wc.status == IBV_WC_SUCCESS);
    printf("after %u: %s\n", done - 1, ibv_wc_status_str(wc.status));
    while (done < posted) {
        struct ibv_wc flushed = endpoint_wait(ep.cq);
        MUST(flushed.wr_id == done++ && flushed.status == IBV_WC_WR_FLUSH_ERR);
    }
    struct ibv_qp_attr attr;
    MUST(ibv_query_qp(ep.qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_ERR);
    MUST(ibv_dereg_mr(mr) == 0);
    endpoint_close(&ep);
    MUST(ibv_close_device(context) == 0);
    free(buf);
    return wc.status == IBV_WC_RETRY_EXC_ERR ? 0 : 1;
}
