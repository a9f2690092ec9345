/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent verbs: the libibverbs objects of one session, which are memory regions, RC, UC and UD QPs,
 * posted receives and sends, and their completions. Regions and QPs are numbered from 0 in the
 * order of creation. agent_objects.h has the objects that only drills use.
 *
 *   1. agent_device_open() opens the device.
 *   2. agent_rpc.c calls the other functions, one for each request.
 *   3. agent_device_close() destroys all objects of the session.
 *
 * Functions return 0, or -1 with the reason in agent_device.error. A function that fails changes no
 * object.
 */
#ifndef REPLAY_AGENT_AGENT_VERBS_H
#define REPLAY_AGENT_AGENT_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/* Limits of a session. They prevent a client from using all memory of the host. */
#define AGENT_BYTES_MAX (UINT64_C(1) << 30)
/* Limit of the data in a request or reply, bytes. A message contains two hexadecimal digits for
 * each byte. */
#define AGENT_DATA_MAX (256u * 1024)
/* Maximum length of the bytes of one crc request, bytes. Their CRC-32 costs less CPU time than ten
 * ordinary requests. */
#define AGENT_CRC_MAX  (64u * 1024)
#define AGENT_MRS_MAX  4096u
#define AGENT_QPS_MAX  4096u
#define AGENT_SRQS_MAX 64u
#define AGENT_MWS_MAX  64u
#define AGENT_PDS_MAX  64u
#define AGENT_CQS_MAX  64u
#define AGENT_CQ_LEN   8192u /* limit of outstanding sends and receives of a session */
#define AGENT_PORT     1
#define AGENT_PKEY     0xFFFFu /* default P_Key; at index 0 of a RoCE port */
/* Memory that the agent counts towards AGENT_BYTES_MAX for a QP, and for each WQE of its queues,
 * bytes. The driver of an RDMA device allocates about as much memory. */
#define AGENT_QP_BYTES  16384u
#define AGENT_WQE_BYTES 128u
/* GRH area before the payload of a UD datagram in its receive buffer, bytes (rule R172). */
#define AGENT_AREA 40u

/* Memory region to create. */
struct agent_mr_attr {
    uint64_t len;
    int access;        /* enum ibv_access_flags */
    struct ibv_pd *pd; /* NULL: the session's protection domain */
    bool has_iova;     /* false: the IOVA is the virtual address of the memory */
    uint64_t iova;     /* IOVA: the address that the peer uses with the R_Key */
};

struct agent_mr {
    uint8_t *bytes, *map;
    uint64_t map_len; /* length of the mapping, bytes; whole pages */
    uint64_t len;
    uint64_t addr; /* IOVA: the address that the peer uses with the R_Key */
    int access;    /* enum ibv_access_flags */
    struct ibv_pd *pd;
    struct ibv_mr *mr; /* NULL while the region is deregistered */
};

struct agent_qp {
    struct ibv_qp *qp;
    uint32_t depth_send, depth_recv;
    uint64_t bytes; /* memory counted for the QP towards AGENT_BYTES_MAX, bytes */
};

/* Local buffer of a work request. If `given` is false, the client named no buffer, and the agent
 * allocates one. */
struct agent_place {
    bool given;
    uint64_t addr;
    uint32_t lkey;
};

/* A send or receive that has not completed. */
struct agent_wr {
    struct agent_wr *next; /* next entry in the list agent_device.free_wr */
    uint32_t qp;
    uint64_t id; /* number that the client chose for the work request */
    bool recv;
    bool placed;  /* the client named the buffer */
    bool shared;  /* receive posted to an SRQ: the QP is known only from the completion */
    bool fetches; /* READ or atomic: the device writes the result into the buffer */
    uint32_t len;
    uint8_t *bytes;
    struct ibv_mr *mr;
    struct ibv_ah *ah; /* address handle of a datagram */
};

/* Completion queue that the client created, with a separate channel for its notifications. */
struct agent_cq {
    struct ibv_cq *cq;
    struct ibv_comp_channel *channel;
};

struct agent_device {
    struct ibv_context *ctx;
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    /* The session's protection domain, for objects for which the client names none. */
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_pd *own_pd[AGENT_PDS_MAX]; /* protection domains that the client created */
    uint32_t own_pd_cnt;
    struct agent_cq own_cq[AGENT_CQS_MAX];
    uint32_t own_cq_cnt;
    struct agent_mr mr[AGENT_MRS_MAX];
    uint32_t mr_cnt;
    struct agent_qp qp[AGENT_QPS_MAX];
    uint32_t qp_cnt;
    struct ibv_srq *srq[AGENT_SRQS_MAX];
    uint32_t srq_cnt;
    struct ibv_mw *mw[AGENT_MWS_MAX];
    uint32_t mw_cnt;
    struct agent_wr wr[AGENT_CQ_LEN];
    struct agent_wr *free_wr;
    uint64_t bytes;     /* memory allocated by the session, bytes */
    struct error error; /* reason why the latest function failed */
    int code;           /* errno of a verb that failed in the current request; 0: none */
};

struct agent_connect {
    union ibv_gid dgid;
    int gid_index;
    uint16_t pkey;
    uint8_t port;
    uint32_t dest_qpn, mtu, rq_psn, sq_psn, qkey;
    int access;
    uint8_t min_rnr_timer, timeout, retry_cnt, rnr_retry, rd_atomic, resources, hop_limit, tclass;
    enum ibv_qp_state last; /* state in which agent_qp_connect() leaves the QP: INIT, RTR or RTS */
};

struct agent_send {
    uint64_t id;
    enum ibv_wr_opcode opcode;
    uint32_t len; /* bytes to send, or to fetch with a READ */
    bool solicited, fence, unsignaled, inlined;
    struct agent_place place;
    uint64_t remote_addr;
    uint32_t rkey, imm, invalidate; /* all three in host byte order */
    uint64_t compare_add, swap;
    /* The members below are for UD only. */
    union ibv_gid dgid;
    int gid_index;
    uint32_t dest_qpn, qkey;
    uint8_t hop_limit, tclass;
};

struct agent_completion {
    uint32_t qp;
    uint64_t id;
    enum ibv_wc_status status;
    bool recv, has_imm, has_invalidated;
    /* `invalidated`: R_Key that the peer invalidated. `byte_len`: member byte_len of the verbs
     * completion. */
    uint32_t invalidated, byte_len;
    /* `imm`: immediate data. `len` and `crc32`: length in bytes and CRC-32 of the data that the
     * work request received or fetched. */
    uint32_t imm, len, crc32;
    /* First bytes of the data; only `len` bytes if `len` is less than 8. */
    uint8_t first[8];
    bool datagram;
    uint32_t src_qpn; /* source QPN of a received datagram */
};

/* Returns 0 if the device `name` exists or `name` is NULL, or -1 and an error that lists the
 * devices of this host. */
int agent_device_find(const char *name, struct error *error);

/* Opens the device `name`, or the first device if `name` is NULL. */
int agent_device_open(struct agent_device *dev, const char *name);
void agent_device_close(struct agent_device *dev);

int agent_mr_new(struct agent_device *dev, const struct agent_mr_attr *attr, uint32_t *out);
int agent_mr_withdraw(struct agent_device *dev, uint32_t mr);
int agent_mr_register(struct agent_device *dev,
                      uint32_t mr); /* registers the region again; its keys change */

struct agent_qp_caps {
    uint32_t max_send, max_recv, max_inline;
    struct ibv_srq *srq; /* NULL: the QP has its own receive queue */
    struct ibv_pd *pd;   /* NULL: the session's protection domain */
    struct ibv_cq *cq;   /* NULL: the session's CQ */
};
int agent_qp_new(struct agent_device *dev, enum ibv_qp_type type, const struct agent_qp_caps *caps,
                 uint32_t *out);

/* Fills *attr with the attributes of a connection for ibv_modify_qp(), except the state. Fails with
 * EOPNOTSUPP if the P_Key table of the port does not contain the P_Key. */
int agent_qp_attr(struct agent_device *dev, const struct agent_connect *to,
                  struct ibv_qp_attr *attr);
int agent_qp_connect(struct agent_device *dev, uint32_t qp, const struct agent_connect *to);
int agent_qp_del(struct agent_device *dev, uint32_t qp);

/* agent_recv() posts a receive with `len` bytes for the payload to a QP, agent_srq_recv() to an
 * SRQ. If the client names no buffer, they add the GRH area to the buffer of a UD QP, or of an SRQ
 * from which a UD QP receives. */
int agent_recv(struct agent_device *dev, uint32_t qp, uint64_t id, uint32_t len,
               const struct agent_place *place);
int agent_srq_recv(struct agent_device *dev, uint32_t srq, uint64_t id, uint32_t len,
                   const struct agent_place *place);

/* Returns a free entry for a work request of QP `qp`, with a buffer of `len` bytes that is
 * registered in `pd`. Returns NULL and sets dev->error if no entry is free or memory is exhausted.
 */
struct agent_wr *agent_wr_new(struct agent_device *dev, struct ibv_pd *pd, uint32_t qp, uint64_t id,
                              uint32_t len);
void agent_wr_free(struct agent_device *dev, struct agent_wr *wr);

/* Posts a work request to the send queue. `bytes` are the send->len bytes to send; NULL: zeros. */
int agent_send(struct agent_device *dev, uint32_t qp, const struct agent_send *send,
               const uint8_t *bytes);

/* Stores the errno `code` of a failed verb, and the error text "cannot WHAT: REASON", in `dev`.
 * Returns -1. */
int agent_failed(struct agent_device *dev, const char *what, int code);

/* Polls one completion. Returns 1 and fills *out, 0 if there is no completion, or -1 after an
 * error. */
int agent_poll(struct agent_device *dev, struct agent_completion *out);

uint32_t agent_crc32(const uint8_t *p, uint64_t len);

#endif
