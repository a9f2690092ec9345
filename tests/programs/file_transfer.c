/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * File_transfer: sends a file by RDMA WRITE with immediate. The receiver has a buffer of two
 * halves, and each WRITE fills one half. The immediate data contains the number of the half and the
 * length; its top bit marks the last WRITE. When a half can be filled again, the receiver sends an
 * empty SEND.
 *
 *   file_transfer receive PORT FILE
 *   file_transfer send HOST PORT FILE [MS]     waits MS milliseconds before each WRITE
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "endpoint.h"

#define HALF (256u * 1024)
#define LAST 0x80000000u
#define SIDE 0x40000000u
#define LEN  0x3FFFFFFFu

static char buffer[2 * HALF];

static void check(struct ibv_wc wc)
{
    if (wc.status != IBV_WC_SUCCESS)
        die("completion: %s", ibv_wc_status_str(wc.status));
}

static void post_recv(struct ibv_qp *qp)
{
    struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
    int error = ibv_post_recv(qp, &wr, &bad);
    if (error)
        die("ibv_post_recv: %s", strerror(error));
}

static void post_send(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    int error = ibv_post_send(qp, wr, &bad);
    if (error)
        die("ibv_post_send: %s", strerror(error));
}

static void receive_file(struct endpoint *ep, FILE *file)
{
    bool last = false;
    uint64_t total = 0;
    for (int sent = 0; !last || sent > 0;) {
        struct ibv_wc wc = endpoint_wait(ep->cq);
        check(wc);
        if (!(wc.opcode & IBV_WC_RECV)) {
            sent--;
            continue;
        }
        if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || !(wc.wc_flags & IBV_WC_WITH_IMM))
            die("not a WRITE with immediate");
        uint32_t imm = ntohl(wc.imm_data), len = imm & LEN;
        if (len != wc.byte_len || len > HALF)
            die("immediate data says %u bytes, the completion %u", len, wc.byte_len);
        if (fwrite(buffer + (imm & SIDE ? HALF : 0), 1, len, file) != len)
            die("write: %s", strerror(errno));
        total += len;
        last = imm & LAST;
        post_recv(ep->qp);
        struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
        post_send(ep->qp, &wr);
        sent++;
    }
    printf("received %llu bytes\n", (unsigned long long)total);
}

static void send_file(struct endpoint *ep, FILE *file, const struct ibv_mr *mr,
                      const struct endpoint_address *peer, long pause_ms)
{
    const struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000};
    bool last = false;
    int free_halves = 2, in_flight = 0;
    uint64_t total = 0;
    for (unsigned side = 0; !last || in_flight > 0 || free_halves < 2;) {
        if (!last && free_halves > 0 && in_flight < 2) {
            if (pause_ms > 0)
                nanosleep(&pause, NULL);
            char *from = buffer + side * HALF;
            size_t len = fread(from, 1, HALF, file);
            if (ferror(file))
                die("read: %s", strerror(errno));
            last = len < HALF;
            struct ibv_sge sge = {(uintptr_t)from, (uint32_t)len, mr->lkey};
            struct ibv_send_wr wr = {
                .sg_list = &sge,
                .num_sge = 1,
                .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                .send_flags = IBV_SEND_SIGNALED,
                .imm_data = htonl((uint32_t)len | (side ? SIDE : 0) | (last ? LAST : 0)),
                .wr.rdma = {.remote_addr = peer->addr + side * HALF, .rkey = peer->rkey},
            };
            post_send(ep->qp, &wr);
            total += len;
            free_halves--;
            in_flight++;
            side = !side;
            continue;
        }
        struct ibv_wc wc = endpoint_wait(ep->cq);
        check(wc);
        if (wc.opcode & IBV_WC_RECV) {
            free_halves++;
            post_recv(ep->qp);
        } else {
            in_flight--;
        }
    }
    printf("sent %llu bytes\n", (unsigned long long)total);
}

int main(int argc, char **argv)
{
    bool sender = (argc == 5 || argc == 6) && strcmp(argv[1], "send") == 0;
    if (!sender && !(argc == 4 && strcmp(argv[1], "receive") == 0))
        die("usage: file_transfer receive PORT FILE | send HOST PORT FILE [MS]");
    const char *name = argv[sender ? 4 : 3];
    FILE *file = fopen(name, sender ? "rb" : "wb");
    if (!file)
        die("%s: %s", name, strerror(errno));
    int fd = endpoint_tcp(sender ? argv[2] : NULL, atoi(argv[sender ? 3 : 2]));
    struct endpoint ep;
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 4, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
    };
    struct ibv_context *context = endpoint_device(NULL);
    endpoint_open(&ep, context, 32, &init);
    struct ibv_mr *mr =
        ibv_reg_mr(ep.pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (!mr)
        die("ibv_reg_mr: %s", strerror(errno));
    struct endpoint_address own = {
        .qpn = ep.qp->qp_num,
        .psn = (uint32_t)getpid() & 0xFFFFFF,
        .rkey = mr->rkey,
        .addr = (uintptr_t)buffer,
        .len = sizeof buffer,
        .gid = ep.gid,
    };
    struct endpoint_address peer;
    for (int i = 0; i < 6; i++)
        post_recv(ep.qp);
    endpoint_swap(fd, &own, &peer);
    endpoint_connect(&ep, &peer, own.psn);
    endpoint_swap(fd, &own, &peer); /* each side waits until its peer is ready to receive */
    if (sender)
        send_file(&ep, file, mr, &peer, argc == 6 ? atol(argv[5]) : 0);
    else
        receive_file(&ep, file);
    if (fclose(file) != 0)
        die("%s: %s", name, strerror(errno));
    /* Both sides wait here until the transfer is complete and the file is written. */
    endpoint_swap(fd, &own, &peer);
    ibv_dereg_mr(mr);
    endpoint_close(&ep);
    if (ibv_close_device(context) != 0)
        die("ibv_close_device failed");
    return 0;
}
