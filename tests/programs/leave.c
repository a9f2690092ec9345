/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Leave: a receiver ends right after it polled its last completion, without destroying any object.
 * The sender must still get its completion, because an RNIC acknowledges a message before the
 * receiver's program gets the completion.
 *
 *   leave [TIMES [exit|now|stop|exec]]
 *
 * exit (default): the receiver calls exit().
 * now: the receiver calls _exit(), which runs no code of the libraries.
 * stop: the receiver moves the QP to ERR first, as rdma_disconnect() does.
 * exec: the receiver calls exec() and becomes another program.
 *
 * Both sides are processes of this program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "endpoint.h"

static unsigned char memory[64];
static bool now, stop, becomes;

static void play(int fd, bool leaves)
{
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
    };
    struct ibv_context *context = endpoint_device(NULL);
    struct endpoint ep;
    endpoint_open(&ep, context, 2, &init);
    struct ibv_mr *mr = ibv_reg_mr(ep.pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
    if (!mr)
        die("ibv_reg_mr: %s", strerror(errno));
    struct ibv_sge sge = {(uintptr_t)memory, sizeof memory, mr->lkey};
    struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
    struct ibv_send_wr send = {.sg_list = &sge,
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_SIGNALED},
                       *bad_send;
    struct endpoint_address own = {.qpn = ep.qp->qp_num, .psn = 1, .gid = ep.gid};
    struct endpoint_address peer;
    if (leaves && ibv_post_recv(ep.qp, &recv, &bad_recv) != 0)
        die("ibv_post_recv failed");
    endpoint_swap(fd, &own, &peer);
    endpoint_connect(&ep, &peer, own.psn);
    endpoint_swap(fd, &own, &peer); /* each side waits until its peer is ready */
    if (!leaves && ibv_post_send(ep.qp, &send, &bad_send) != 0)
        die("ibv_post_send failed");
    struct ibv_wc wc = endpoint_wait(ep.cq);
    if (wc.status != IBV_WC_SUCCESS)
        die("the %s gets: %s", leaves ? "receiver" : "sender", ibv_wc_status_str(wc.status));
    if (stop && leaves) {
        struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
        if (ibv_modify_qp(ep.qp, &error, IBV_QP_STATE) != 0)
            die("ibv_modify_qp failed");
    }
    if (now)
        _exit(0);
    if (becomes && leaves)
        execl("/bin/sh", "sh", "-c", "exit $1", "sh", "0", (char *)NULL);
    exit(0); /* ends the process without destroying any object */
}

static pid_t player(int fds[2], bool leaves)
{
    pid_t pid = fork();
    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid == 0) {
        close(fds[!leaves]);
        play(fds[leaves], leaves);
    }
    return pid;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 5;
    now = argc > 2 && strcmp(argv[2], "now") == 0;
    stop = argc > 2 && strcmp(argv[2], "stop") == 0;
    becomes = argc > 2 && strcmp(argv[2], "exec") == 0;
    for (int i = 0; i < times; i++) {
        int fds[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
            die("socketpair: %s", strerror(errno));
        player(fds, false);
        player(fds, true);
        close(fds[0]);
        close(fds[1]);
        for (int side = 0; side < 2; side++) {
            int status;
            if (wait(&status) < 0 || status != 0)
                return 1;
        }
    }
    printf("the sender got its completion in all of %d runs\n", times);
    return 0;
}
