/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rxedrive: executes a list of verbs steps on two RDMA devices, in lockstep, for recording.
 *
 * The same program runs with the same arguments on two hosts, which are the sides "left" and
 * "right". "left" is the requester of a step unless the step has from=right. Both sides execute the
 * whole list. After each step they synchronize over a TCP connection on a network that is not
 * recorded. So a step starts only after both sides have finished the previous one. Each side also
 * computes the bytes that the memory of the other side should contain.
 */
#ifndef RXEDRIVE_H
#define RXEDRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

enum {
    LEFT,
    RIGHT,
    SIDES,
};

enum {
    MAX_QPS = 16,
    REGION_LEN = 256 * 1024,     /* bytes of remotely accessible memory on each side */
    ARENA_LEN = 8 * 1024 * 1024, /* bytes for local buffers, each used once */
    QUEUE_DEPTH = 256,           /* work requests per queue */
    GRH_LEN = 40,                /* bytes before the payload in a UD receive buffer */
    UD_QKEY = 0x11111111,
};

/* Keys of the responder's region. */
enum key {
    KEY_ALL, /* read, write and atomic permitted */
    KEY_READONLY,
    KEY_WRITEONLY,
    KEY_MW,    /* key of the latest memory window that the responder bound */
    KEY_WRONG, /* a key that the responder does not have */
    KEYS,
};

enum cm_mode {
    CM_NONE, /* QPs are connected over the control channel */
    CM_ACCEPT,
    CM_REJECT, /* the program on the right host rejects the connection */
};

struct options {
    int me;                     /* LEFT or RIGHT */
    const char *control[SIDES]; /* addresses on the control network, IPv4 */
    const char *ip[SIDES];      /* addresses of the RDMA devices, IPv4 or IPv6 */
    const char *group;          /* multicast group that right joins and left sends to, or NULL */
    enum ibv_qp_type type;
    enum cm_mode cm;
    bool disconnect; /* left disconnects a CM connection */
    bool extended;   /* QPs of the extended interface: FLUSH, ATOMIC WRITE */
    bool lossy;      /* unreliable service with loss: lost messages are not errors */
    bool srq;
    int qps;
    int mtu;             /* path MTU, bytes */
    uint32_t psn[SIDES]; /* first PSN of QP 0; QP n starts n * 0x1000 later */
    int min_rnr, timeout, retry, rnr_retry, rd_atomic, tclass;
    int patience; /* timeout of a completion, s */
};

/* Data that both sides exchange before the first step. Sent in host byte order, because both
 * machines have the same. */
struct endpoint {
    uint32_t qpn[MAX_QPS];
    uint32_t rkey[KEYS];
    uint64_t va;
    union ibv_gid gid;
};

struct rig {
    struct options opt;
    int control_fd;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener, *id;
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_qp *qp[MAX_QPS];
    struct ibv_ah *ah; /* UD: address of the peer or of the group */
    struct ibv_mw *mw;
    struct ibv_mr *mr[KEYS]; /* KEY_ALL, KEY_READONLY, KEY_WRITEONLY */
    struct ibv_mr *arena_mr;
    uint8_t *region; /* REGION_LEN bytes, then the arena */
    uint8_t *arena;
    size_t arena_used;
    struct endpoint mine, peer;
};

/* rxedrive_peer.c: the control channel */
void peer_connect(struct rig *rig);
void peer_exchange(struct rig *rig, const void *mine, void *theirs, size_t len);
uint64_t peer_meet(struct rig *rig, uint64_t value);

/* rxedrive_qp.c: devices and connections */
void rig_connect(struct rig *rig);
void rig_disconnect(struct rig *rig);
void rig_report_events(struct rig *rig);
void rig_spend_qpns(int n);
bool qp_to_error(struct ibv_qp *qp);

/* Prints a message and ends the program. */
__attribute__((noreturn, format(printf, 1, 2))) void fatal(const char *format, ...);

#endif
