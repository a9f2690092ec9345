/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent device: what the agent does with a libibverbs device on behalf of one session: memory
 * regions, RC, UC and UD queue pairs, receive and send requests, completions. All objects are
 * numbered from 0 in the order they were made; everything goes when the session ends.
 *
 * Functions return 0, or -1 with a line in agent_why(); nothing is left behind by one that failed.
 */
#ifndef REPLAY_AGENT_AGENT_VERBS_H
#define REPLAY_AGENT_AGENT_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A session may hold this much; a client cannot make the far host run out of memory. */
#define AGENT_BYTES_MAX (UINT64_C(1) << 30)
#define AGENT_MRS_MAX   4096u
#define AGENT_QPS_MAX   4096u
#define AGENT_CQ_LEN    8192u /* send and receive requests outstanding at a time, in all */
#define AGENT_PORT      1
#define AGENT_AREA      40u /* bytes before a datagram in its receive buffer (R172) */

struct agent_mr {
    uint8_t *bytes;
    uint64_t map_len; /* of the mapping: whole pages */
    uint64_t len;
    int access;        /* ibv_access_flags */
    struct ibv_mr *mr; /* NULL while the key is withdrawn */
};

struct agent_qp {
    struct ibv_qp *qp;
    uint32_t depth_send, depth_recv;
};

/* A send or receive request that has not completed. */
struct agent_wr {
    struct agent_wr *next; /* while it is free */
    uint32_t qp;
    uint64_t id; /* the client's */
    bool recv;
    bool fetches; /* a READ or an atomic: its bytes are the result */
    uint32_t len;
    uint8_t *bytes;
    struct ibv_mr *mr;
    struct ibv_ah *ah; /* of a datagram */
};

struct agent_device {
    struct ibv_context *ctx;
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct agent_mr mr[AGENT_MRS_MAX];
    uint32_t mr_cnt;
    struct agent_qp qp[AGENT_QPS_MAX];
    uint32_t qp_cnt;
    struct agent_wr wr[AGENT_CQ_LEN];
    struct agent_wr *free_wr;
    uint64_t bytes; /* held */
    char why[256];
};

struct agent_connect {
    union ibv_gid dgid;
    int gid_index;
    uint32_t dest_qpn, mtu, rq_psn, sq_psn, qkey;
    int access;
    uint8_t min_rnr_timer, timeout, retry_cnt, rnr_retry, rd_atomic, hop_limit;
};

struct agent_send {
    uint64_t id;
    enum ibv_wr_opcode opcode;
    uint32_t len; /* to send, or wanted by a READ */
    bool solicited;
    uint64_t remote_addr;
    uint32_t rkey, imm, invalidate; /* host order */
    uint64_t compare_add, swap;
    /* UD only. */
    union ibv_gid dgid;
    int gid_index;
    uint32_t dest_qpn, qkey;
    uint8_t hop_limit;
};

struct agent_completion {
    uint32_t qp;
    uint64_t id;
    enum ibv_wc_status status;
    bool recv, has_imm;
    uint32_t imm, len, crc32; /* of what was received or fetched */
    uint8_t first[8];         /* the first bytes of it, as many as there are */
    bool datagram;
    uint32_t src_qpn; /* of a datagram received */
};

/* The device of this name, or the first. */
int agent_device_open(struct agent_device *dev, const char *name);
void agent_device_close(struct agent_device *dev);

int agent_mr_new(struct agent_device *dev, uint64_t len, int access, uint32_t *out);
int agent_mr_withdraw(struct agent_device *dev, uint32_t mr);
int agent_mr_register(struct agent_device *dev, uint32_t mr); /* again; with another key */

int agent_qp_new(struct agent_device *dev, enum ibv_qp_type type, uint32_t max_send,
                 uint32_t max_recv, uint32_t *out);
int agent_qp_connect(struct agent_device *dev, uint32_t qp, const struct agent_connect *to);
int agent_qp_del(struct agent_device *dev, uint32_t qp);

/* `len` bytes of payload: what stands before a datagram has room of its own. */
int agent_recv(struct agent_device *dev, uint32_t qp, uint64_t id, uint32_t len);

/* `bytes` are send->len, or NULL for zeros. */
int agent_send(struct agent_device *dev, uint32_t qp, const struct agent_send *send,
               const uint8_t *bytes);

/* 1 and a completion, 0 if there is none, -1. */
int agent_poll(struct agent_device *dev, struct agent_completion *out);

uint32_t agent_crc32(const uint8_t *p, uint64_t len);

#endif
