/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Endpoint: creates the objects that every verbs program needs (device, PD, CQ and QP), and
 * exchanges addresses with the peer. It uses only the system's headers, so that the programs also
 * run on hardware. On any failure the program ends with one line about the failed call and the
 * reason.
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

/* The parameters that the two sides send each other, in host byte order. */
struct endpoint_address {
    uint32_t qpn, psn, rkey;
    uint64_t addr, len;
    union ibv_gid gid;
};

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Opens the device named `name`, or the first device if `name` is NULL. */
struct ibv_context *endpoint_device(const char *name);

/* Returns the index of the first RoCEv2 GID that is an IPv4 address, or if there is none, of the
 * first RoCEv2 GID. Sets *gid to this GID. */
int endpoint_gid(struct ibv_context *context, union ibv_gid *gid);

/* Creates the PD, the CQ and the QP. The QP is in INIT and allows the peer WRITE, READ and
 * atomics. */
void endpoint_open(struct endpoint *ep, struct ibv_context *context, int cqe,
                   struct ibv_qp_init_attr *init);
void endpoint_close(struct endpoint *ep); /* Destroys the objects, but leaves the context open. */

/* Moves the QP from INIT to RTS, connected to `peer`. `psn` is its first PSN. */
void endpoint_connect(struct endpoint *ep, const struct endpoint_address *peer, uint32_t psn);

/* Sends *own to the peer over a TCP socket and receives *peer. Ends the program on failure. */
void endpoint_swap(int fd, const struct endpoint_address *own, struct endpoint_address *peer);

/* Connects to `host` and `port` by TCP, or if `host` is NULL, accepts a connection on `port`.
 * Returns the socket. */
int endpoint_tcp(const char *host, int port);

/* Returns the next completion. Ends the program after ten seconds without one. */
struct ibv_wc endpoint_wait(struct ibv_cq *cq);

#endif
