/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pingpong: sends a message to the peer, which changes it and sends it back. The messages have
 * sizes from 1 byte to 64 KiB. Both sides check every byte. The client prints the round-trip times.
 *
 *   pingpong PORT [ROUNDS]             server: waits for the client
 *   pingpong PORT ROUNDS HOST          client
 *
 * Both sides need the same number of rounds (default 100).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "endpoint.h"

#define MOST (64u * 1024)

static unsigned char out[MOST], in[MOST];

/* Returns the expected byte at offset `at` of the message in round `round`. `back` is true for the
 * message from the server to the client. */
static unsigned char ball(unsigned round, bool back, uint32_t at)
{
    return (unsigned char)(at * 31 + round * 7 + (at >> 8) + (back ? 128 : 0));
}

static void paint(unsigned round, bool back, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        out[i] = ball(round, back, i);
}

static void compare(unsigned round, bool back, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        if (in[i] != ball(round, back, i))
            die("round %u, byte %u of %u: %u instead of %u", round, i, len, in[i],
                ball(round, back, i));
}

static void post_recv(const struct endpoint *ep, const struct ibv_mr *mr)
{
    struct ibv_sge sge = {(uintptr_t)in, sizeof in, mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    int error = ibv_post_recv(ep->qp, &wr, &bad);
    if (error)
        die("ibv_post_recv: %s", strerror(error));
}

static void post_send(const struct endpoint *ep, const struct ibv_mr *mr, uint32_t len)
{
    struct ibv_sge sge = {(uintptr_t)out, len, mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED},
                       *bad;
    int error = ibv_post_send(ep->qp, &wr, &bad);
    if (error)
        die("ibv_post_send: %s", strerror(error));
}

/* Completions that have arrived. If an ACK was lost, the peer's next message may arrive before this
 * side's SEND completes, so the receive may complete first. The peer's next message may even be the
 * first message of the next size. */
struct wanted {
    bool sent, received;
    uint32_t len; /* bytes received */
};

static void wait_until(const struct endpoint *ep, struct wanted *is, const bool *this)
{
    while (!*this) {
        struct ibv_wc wc = endpoint_wait(ep->cq);
        if (wc.status != IBV_WC_SUCCESS)
            die("completion: %s", ibv_wc_status_str(wc.status));
        if (wc.opcode == IBV_WC_RECV)
            is->len = wc.byte_len;
        *(wc.opcode == IBV_WC_RECV ? &is->received : &is->sent) = true;
    }
}

static double now_us(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static int in_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Exchanges the messages of one size. Posts the receive for a message before the peer can send the
 * message. */
static void play(const struct endpoint *ep, const struct ibv_mr *from, const struct ibv_mr *to,
                 struct wanted *is, bool serves, unsigned rounds, uint32_t len, double *us)
{
    for (unsigned round = 0; round < rounds; round++) {
        double begin;
        paint(round, serves, len);
        begin = now_us();
        if (!serves)
            post_send(ep, from, len);
        wait_until(ep, is, &is->received);
        us[round] = now_us() - begin;
        if (is->len != len)
            die("%u bytes instead of %u", is->len, len);
        is->received = false;
        compare(round, !serves, len);
        post_recv(ep, to);
        if (serves)
            post_send(ep, from, len);
        wait_until(ep, is, &is->sent);
        is->sent = false;
    }
    if (serves)
        return;
    qsort(us, rounds, sizeof *us, in_order);
    printf("%6u bytes: %u rounds, shortest round trip %.1f us, median %.1f us\n", len, rounds,
           us[0], us[rounds / 2]);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
    bool serves = argc < 4;
    if (argc < 2 || argc > 4 || rounds == 0)
        die("usage: pingpong PORT [ROUNDS [HOST]]");
    int fd = endpoint_tcp(serves ? NULL : argv[3], atoi(argv[1]));
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
    };
    struct ibv_context *context = endpoint_device(NULL);
    struct endpoint ep;
    endpoint_open(&ep, context, 8, &init);
    struct ibv_mr *from = ibv_reg_mr(ep.pd, out, sizeof out, 0);
    struct ibv_mr *to = ibv_reg_mr(ep.pd, in, sizeof in, IBV_ACCESS_LOCAL_WRITE);
    double *us = calloc(rounds, sizeof *us);
    if (!from || !to || !us)
        die("memory: %s", strerror(errno));
    struct endpoint_address own = {
        .qpn = ep.qp->qp_num, .psn = (uint32_t)getpid() & 0xFFFFFF, .gid = ep.gid};
    struct endpoint_address peer;
    post_recv(&ep, to);
    endpoint_swap(fd, &own, &peer);
    endpoint_connect(&ep, &peer, own.psn);
    endpoint_swap(fd, &own, &peer); /* each side waits until its peer is ready to receive */
    struct wanted is = {false, false, 0};
    for (uint32_t len = 1; len <= MOST; len *= 4)
        play(&ep, from, to, &is, serves, rounds, len, us);
    endpoint_swap(fd, &own, &peer); /* each side waits until its peer has all completions */
    printf("%s: every byte has the expected value\n", serves ? "server" : "client");
    free(us);
    ibv_dereg_mr(from);
    ibv_dereg_mr(to);
    endpoint_close(&ep);
    close(fd);
    if (ibv_close_device(context) != 0)
        die("ibv_close_device failed");
    return 0;
}
