/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Endpoint: what every verbs program needs to begin: device, PD, CQ, QP, and a way to tell the
 * peer. Written against the system's headers only; runs on hardware as well. Everything that fails
 * ends the program with one line that says what and why.
 */
#ifndef PROGRAMS_ENDPOINT_H
#define PROGRAMS_ENDPOINT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct endpoint {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    union ibv_gid gid;
    int gid_idx;
};

/* What one side tells the other, in host order of one kind of machine. */
struct endpoint_address {
    uint32_t qpn, psn, rkey;
    uint64_t addr, len;
    union ibv_gid gid;
};

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Opens the first device, or the one called `name`. */
struct ibv_context *endpoint_device(const char *name);

/* The first RoCEv2 GID that is an IPv4 address, or the first RoCEv2 GID. */
int endpoint_gid(struct ibv_context *context, union ibv_gid *gid);

/* All objects; the QP is in INIT and lets the peer write, read and use atomics. */
void endpoint_open(struct endpoint *ep, struct ibv_context *context, int cqe,
                   struct ibv_qp_init_attr *init);
void endpoint_close(struct endpoint *ep); /* not the context */

/* INIT to RTS. */
void endpoint_connect(struct endpoint *ep, const struct endpoint_address *peer, uint32_t psn);

/* Swaps addresses over a TCP socket. */
void endpoint_swap(int fd, const struct endpoint_address *own, struct endpoint_address *peer);

/* A TCP connection: waits for one on `port`, or makes one to `host`. */
int endpoint_tcp(const char *host, int port);

/* The next completion; dies after ten seconds without one. */
struct ibv_wc endpoint_wait(struct ibv_cq *cq);

#endif
