/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QP pair: two whole devices on a simulated network. Their QPs are connected in pairs. A test can
 * change the attributes of the QPs between qp_pair_init() and qp_pair_connect().
 */
#ifndef TEST_QP_PAIR_H
#define TEST_QP_PAIR_H

#include "device/rnic.h"
#include "simnet.h"

#define QP_PAIR_QPS   4u
#define QP_PAIR_MEM   (1u << 20)
#define QP_PAIR_GUARD 4096u
#define QP_PAIR_KEY   0x00C0FFEEu /* key of a region with all memory of a side, with all rights */
#define QP_PAIR_IOVA  UINT64_C(0xFFFFC00000000000)
#define QP_PAIR_T                                                                                  \
    UINT64_C(1048576) /* local ACK timeout with code 8, ns: many times the network's delay */

/* Kind of the QPs. With XRC, each side has an initiator, a target and an SRQ for each index i. The
 * number of the SRQ is the QPN of the target. */
struct qp_pair_opts {
    enum rnic_qp_type type; /* QP type: RC (also 0), UC or XRC_SEND */
    bool srq;               /* each QP has an SRQ */
    bool no_credits;
    bool mw_2a; /* memory windows of type 2 are of type 2A; otherwise 2B */
};

/* QPN of the target of index i minus QPN of the initiator of index i. */
#define QP_PAIR_TARGET 0x10u

struct qp_pair_side {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct rnic_cq *send_cq[QP_PAIR_QPS];
    struct rnic_cq *recv_cq[QP_PAIR_QPS];
    struct rnic_qp *qp[QP_PAIR_QPS]; /* QPs that send */
    /* QPs that receive requests. For XRC, these are the target QPs; for other services, the QPs of
     * `qp`. */
    struct rnic_qp *target[QP_PAIR_QPS];
    struct rnic_srq *srq[QP_PAIR_QPS]; /* SRQ of each QP, or NULL */
    struct rnic_xrcd *xrcd;            /* XRC domain, or NULL */
    struct rnic_qp_attr attr[QP_PAIR_QPS];
    uint8_t *block; /* memory block: guard bytes, mem, guard bytes */
    uint8_t *mem;
};

struct qp_pair {
    struct simnet net;
    struct qp_pair_side side[2];
    unsigned qp_cnt;
    unsigned node[2];
};

/* Creates two devices and `qp_cnt` pairs of QPs in RESET, with queues of `depth` WQEs (4 SGEs, 64
 * bytes inline). Attributes: path MTU 1024, first PSNs shortly before the wrap (R062), 4 READs and
 * atomics, timeout 8, retry_cnt 7, rnr_retry 7. Memory is filled with random bytes derived from the
 * seed. */
void qp_pair_init(struct qp_pair *pair, uint64_t seed, enum roce_encap encap, unsigned qp_cnt,
                  uint32_t depth);

/* Like qp_pair_init(), but `opts` selects the kind of the QPs. */
void qp_pair_init_as(struct qp_pair *pair, uint64_t seed, enum roce_encap encap, unsigned qp_cnt,
                     uint32_t depth, const struct qp_pair_opts *opts);

/* Checks the guard bytes and frees the QP pair. */
void qp_pair_free(struct qp_pair *pair);

/* Moves all QPs to RTS, each with its attributes in qp_pair_side.attr. */
void qp_pair_connect(struct qp_pair *pair);

/* Returns the QPN of QP `i` of a side. */
uint32_t qp_pair_qpn(unsigned side, unsigned i);

/* Posts a signaled work request with one SGE to QP `qp` of `side`: `len` bytes at offset `off` of
 * the local memory, and at offset `roff` of the remote memory. */
int qp_pair_send(struct qp_pair *pair, unsigned side, unsigned qp, uint64_t wr_id,
                 enum rnic_wr_opcode opcode, uint32_t off, uint32_t len, uint32_t roff);
int qp_pair_recv(struct qp_pair *pair, unsigned side, unsigned qp, uint64_t wr_id, uint32_t off,
                 uint32_t len);

/* Posts a receive to QP `qp` of `side`, or to the SRQ of this QP if there is one. */
int qp_pair_post_recv(struct qp_pair *pair, unsigned side, unsigned qp,
                      const struct rnic_recv_wr *wr);

/* Runs the network until it is idle, but at most for `ns` of virtual time. Returns whether the
 * network became idle. */
bool qp_pair_run(struct qp_pair *pair, uint64_t ns);

/* qp_pair_expect_wc() asserts that the next completion of the CQ has this WR ID and status.
 * qp_pair_expect_no_wc() asserts that the CQ has no completion. */
void qp_pair_expect_wc(struct rnic_cq *cq, uint64_t wr_id, enum rnic_wc_status status);
void qp_pair_expect_no_wc(struct rnic_cq *cq);

struct rnic_counters qp_pair_counters(const struct qp_pair *pair, unsigned side);
enum rnic_qp_state qp_pair_state(const struct qp_pair *pair, unsigned side, unsigned qp);

/* Asserts that the counters of both devices match the packets that the network counted (simnet.h)
 * (R249). */
void qp_pair_check_tally(struct qp_pair *pair);

#endif
