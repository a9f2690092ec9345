/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * random_verbs: one end of a random RDMA conversation between two hosts. It runs on the
 * libibverbs and librdmacm of its host. It uses no code of this project, so it shares no
 * assumption with rnic/.
 *
 * Both ends get the same options as NAME=NUMBER; only `side` differs. A round uses every QP
 * once. Each end posts its own random work requests, and prints its requests and completions.
 * The ends exchange QPNs and keys over a TCP connection that is not recorded.
 */
#ifndef RANDOM_VERBS_H
#define RANDOM_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

enum {
    MAX_QPS = 16,
    MAX_DEPTH = 256,      /* work requests per queue */
    MAX_SGE = 4,          /* local buffers per work request */
    REGION_LEN = 1 << 20, /* bytes that the peer may access */
    ARENA_LEN =
        1 << 24, /* length of each arena of local buffers, bytes: sent, received, and READ data */
    MAX_SIZE = 1 << 16, /* bytes per message */
    GRH_LEN = 40,       /* bytes before the payload in a UD receive buffer */
    QKEY = 0x11111111,
};

enum { LEFT, RIGHT };

enum op {
    OP_SEND,
    OP_SEND_IMM,
    OP_WRITE,
    OP_WRITE_IMM,
    OP_READ,
    OP_FADD,
    OP_CAS,
    OP_SEND_INV,
    OP_BIND,
    OP_INV,
    OPS
};

enum key {
    KEY_ALL,   /* key of a region with all access rights */
    KEY_READ,  /* remote READ only */
    KEY_WRITE, /* key of a region with remote WRITE only */
    KEY_STALE, /* key of a region that is no longer registered */
    KEYS,
};

/* How an end leaves before its work is done. */
enum leave { LEAVE_EXIT = 1, LEAVE_DESTROY, LEAVE_ERROR, LEAVE_RESET, LEAVE_DISCONNECT };

/* The options; random_verbs.c has their names and defaults. */
struct options {
    long side, seed, type, qps, rounds, reuse, ops[2], weight[OPS], bad, mtu, sq, rq, srq, sge,
        inlined, sig;
    long size, timeout, retry, rnr, minrnr, rd, dest, psn[2], psnstep, recvs, recvdelay, recvshort,
        pause, chain;
    long rewrite, shared, rereg, cm, reject, leaveside, leaveus, leave, seconds, linger, barrier;
};

/* Data of one end that its peer needs before a round. Both machines have one byte order, so it is
 * sent unconverted. */
struct endpoint {
    uint32_t qpn[MAX_QPS];
    uint32_t psn[MAX_QPS];
    uint32_t rkey[KEYS];
    uint64_t va;
};

enum { MESSAGE_ENDPOINT = 1, MESSAGE_KEY, MESSAGE_DONE, MESSAGE_CONNECTED };

struct message {
    uint32_t kind, a, b;
    struct endpoint end;
};

struct queue {
    struct ibv_qp *qp;
    struct ibv_ah *ah;
    struct rdma_cm_id *id;
    struct ibv_mw *mw;
    uint32_t mw_rkey, peer_mw; /* current keys of the memory windows, 0 if there is none */
    long posted, retired; /* number of send work requests of this round, posted and completed */
    long to_post;
    long recvs;        /* receives posted */
    int64_t next_recv; /* time of the next receive, ns; 0 if none is due */
    long owed_recvs;
    int64_t next_post;
    bool failed;
};

struct end {
    struct options opt;
    const char *ip[2], *control; /* IP addresses of both devices; address of the right end's host */
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    uint8_t *region, *out, *in,
        *got;        /* memory for remote access; arenas of sent, received and READ data */
    size_t slot_len; /* distance between two buffers, bytes */
    struct ibv_mr *mr[KEYS], *out_mr, *in_mr, *got_mr;
    struct endpoint mine, peer;
    struct queue q[MAX_QPS];
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    int sock;
    int gid;
    bool peer_done, peer_gone;
    bool incomplete; /* a round ended before all work requests had completed */
    uint64_t random;
};

void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
int64_t now_ns(void);

/* Returns a random number below `limit`, or 0 if `limit` is 0. */
uint64_t random_below(struct end *end, uint64_t limit);

/* Functions of random_verbs_setup.c. */
void end_open(struct end *end);
void end_key_renew(struct end *end);
void queue_create(struct end *end, int i);
void queue_to_init(struct end *end, int i);
void queue_connect(struct end *end, int i);
void queue_move(struct queue *q, enum ibv_qp_state state);
void queue_destroy(struct queue *q);

/* Connects all QPs with rdma_cm; a QP whose connection fails is marked. */
void cm_connect_all(struct end *end);
void cm_listen(struct end *end);

/* Functions of random_verbs_peer.c. */
void peer_connect(struct end *end);
void peer_send(struct end *end, const struct message *message);

/* Waits for a message of kind `kind` and handles all others. Returns false if the peer is gone. */
bool peer_wait(struct end *end, uint32_t kind, struct message *message);

/* Handles all messages that have arrived. */
void peer_poll(struct end *end);

#endif
