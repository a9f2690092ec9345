/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * random_verbs: one end of a random RDMA conversation between two hosts. It uses the libibverbs and
 * librdmacm of its host, and no code of this project. So it cannot share a wrong assumption with
 * rnic/.
 *
 * Both ends have the same options NAME=NUMBER, except `side`. In a round, each QP is connected
 * once. Each end posts random work requests, and prints them and their completions. The ends
 * exchange QPNs and R_Keys over a TCP connection, which is not part of the recorded capture.
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
    MAX_DEPTH = 256,      /* maximum depth of a queue, work requests */
    MAX_SGE = 4,          /* maximum SGEs of a work request */
    REGION_LEN = 1 << 20, /* length of the memory that the peer may access, bytes */
    ARENA_LEN = 1 << 24,  /* length of each set (arena) of local buffers, bytes: for sent, received,
                           * and READ  data */
    MAX_SIZE = 1 << 16,   /* maximum length of a message, bytes */
    GRH_LEN = 40,         /* GRH area before the payload in a UD receive buffer, bytes */
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
    KEY_READ,  /* key of a region with remote READ only */
    KEY_WRITE, /* key of a region with remote WRITE only */
    KEY_STALE, /* key of a region that is no longer registered */
    KEYS,
};

/* Ways in which an end leaves early, before its work requests have completed. */
enum leave { LEAVE_EXIT = 1, LEAVE_DESTROY, LEAVE_ERROR, LEAVE_RESET, LEAVE_DISCONNECT };

/* The options; random_verbs.c has their names, meanings and defaults. */
struct options {
    long side, seed, type, qps, rounds, reuse, ops[2], weight[OPS], bad, mtu, sq, rq, srq, sge,
        inlined, sig;
    long size, timeout, retry, rnr, minrnr, rd, dest, psn[2], psnstep, recvs, recvdelay, recvshort,
        pause, chain;
    long rewrite, shared, rereg, cm, reject, leaveside, leaveus, leave, seconds, linger, barrier;
};

/* Data of one end that its peer needs before a round. Sent in host byte order, because both
 * machines have the same. */
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
    uint32_t mw_rkey, peer_mw; /* current R_Keys of the own and the peer's memory window; 0: none */
    long posted, retired; /* numbers of send work requests of this round: posted, and completed */
    long to_post;
    long recvs;        /* number of receives posted */
    int64_t next_recv; /* time at which the next receive is posted, ns; 0: none is due */
    long owed_recvs;
    int64_t next_post;
    bool failed;
};

struct end {
    struct options opt;
    /* IP addresses of both devices; address of the right end's host for TCP. */
    const char *ip[2], *control;
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    uint8_t *region, *out, *in,
        /* `region`: memory that the peer may access. `out`, `in`, `got`: sets of buffers (arenas)
         * for sent data, received data, and data of READs. */
        *got;
    size_t slot_len; /* distance between two buffers of an arena, bytes */
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

/* Connects all QPs with rdma_cm. Sets `failed` of a QP if its connection fails. */
void cm_connect_all(struct end *end);
void cm_listen(struct end *end);

/* Functions of random_verbs_peer.c. */
void peer_connect(struct end *end);
void peer_send(struct end *end, const struct message *message);

/* Waits for a message of kind `kind`; handles all other messages that arrive before. Returns true
 * and fills *message, or false if the peer is gone. */
bool peer_wait(struct end *end, uint32_t kind, struct message *message);

/* Handles all messages that have arrived; does not wait. */
void peer_poll(struct end *end);

#endif
