/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Endpoint: the objects that every verbs program creates first: device, PD, CQ and QP, and an
 * exchange of addresses with the peer. It uses only the system's headers, so that it runs on
 * hardware too. On any failure the program ends with one line about the failed call and the
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

/* The parameters that one side sends to the other, in host byte order. */
struct endpoint_address {
    uint32_t qpn, psn, rkey;
    uint64_t addr, len;
    union ibv_gid gid;
};

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Opens the first device, or the device `name` unless it is NULL. */
struct ibv_context *endpoint_device(const char *name);

/* Returns the index of the first RoCEv2 GID that is an IPv4 address, or else of the first RoCEv2
 * GID. */
int endpoint_gid(struct ibv_context *context, union ibv_gid *gid);

/* Creates the PD, the CQ and the QP. The QP is in INIT and lets the peer write, read and use
 * atomics. */
void endpoint_open(struct endpoint *ep, struct ibv_context *context, int cqe,
                   struct ibv_qp_init_attr *init);
void endpoint_close(struct endpoint *ep); /* Destroys the objects, but leaves the context open. */

/* Moves the QP from INIT to RTS. */
void endpoint_connect(struct endpoint *ep, const struct endpoint_address *peer, uint32_t psn);

/* Exchanges addresses with the peer over a TCP socket. Ends the program on failure. */
void endpoint_swap(int fd, const struct endpoint_address *own, struct endpoint_address *peer);

/* Returns a TCP connection to `host`, or one that it accepts on `port` if `host` is NULL. */
int endpoint_tcp(const char *host, int port);

/* Returns the next completion. Ends the program after ten seconds without one. */
struct ibv_wc endpoint_wait(struct ibv_cq *cq);

#endif
