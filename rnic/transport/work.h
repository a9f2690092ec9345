/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Work: types that the transport and the device share: scatter lists, receive work requests,
 * completions, access rights, asynchronous events, counters. device/rnic.h includes this file, so
 * users of the device include only rnic.h.
 *
 * Enumerations have the numbers of their ibv_* counterparts (rdma-core, infiniband/verbs.h). All
 * numbers are in host order. R001.. are the rules of rnic/rules.md.
 */
#ifndef RNIC_WORK_H
#define RNIC_WORK_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_SGE_MAX 32u    /* maximum number of SGEs of one work request */
#define RNIC_WR_MAX  32768u /* maximum number of work requests in one queue */
/* maximum number of responder resources of one QP (R076) */
#define RNIC_RD_ATOMIC_MAX 16u
#define RNIC_MESSAGE_MAX   (UINT32_C(1) << 31) /* maximum message length, bytes; C9-94, R081 */

/* Access rights, with the numbers of enum ibv_access_flags. */
enum rnic_access {
    RNIC_ACCESS_LOCAL_WRITE = 1u << 0,
    RNIC_ACCESS_REMOTE_WRITE = 1u << 1,
    RNIC_ACCESS_REMOTE_READ = 1u << 2,
    RNIC_ACCESS_REMOTE_ATOMIC = 1u << 3,
    RNIC_ACCESS_MW_BIND = 1u << 4,    /* MR: memory windows may be bound to the region (C10-73,
                                       * R211) */
    RNIC_ACCESS_ZERO_BASED = 1u << 5, /* MR, type 2 window: addresses count from 0 (R209) */
    RNIC_ACCESS_ON_DEMAND = 1u << 6,  /* MR: on-demand paging. The device always accesses the memory
                                       * through the process's mappings; the flag only permits a
                                       * region of the whole address space (rnic_mr_reg()) */
    RNIC_ACCESS_HUGETLB = 1u << 7,    /* no effect on this device */
    RNIC_ACCESS_FLUSH_GLOBAL = 1u << 8, /* FLUSH makes the data visible to all agents of the host
                                         * (A19) */
    RNIC_ACCESS_FLUSH_PERSISTENT = 1u << 9, /* FLUSH makes the data survive a power loss (A19) */
};
#define RNIC_ACCESS_ALL 0x31Fu /* all access rights */

/* All accepted flags: enum rnic_access, and the hints of IBV_ACCESS_OPTIONAL_RANGE. */
#define RNIC_ACCESS_FLAGS 0x3FF003FFu

/* Rights that can be granted to a peer. */
#define RNIC_ACCESS_REMOTE                                                                         \
    (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC |              \
     RNIC_ACCESS_FLUSH_GLOBAL | RNIC_ACCESS_FLUSH_PERSISTENT)

struct rnic_sge {
    uint64_t addr; /* address in the MR's iova space */
    uint32_t len;
    uint32_t lkey;
};

struct rnic_recv_wr {
    uint64_t wr_id;
    const struct rnic_sge *sge; /* scatter list, copied by the call */
    uint32_t sge_cnt;           /* number of SGEs, 0..max_recv_sge */
};

/* Completion statuses, with the numbers of enum ibv_wc_status. Appendix 5 of rnic/rules.md lists
 * the use of each, and the statuses that this device never produces. */
#define RNIC_WC_STATUSES(X)                                                                        \
    X(SUCCESS, 0)                                                                                  \
    X(LOC_LEN_ERR, 1)                                                                              \
    X(LOC_QP_OP_ERR, 2)                                                                            \
    X(LOC_EEC_OP_ERR, 3)                                                                           \
    X(LOC_PROT_ERR, 4)                                                                             \
    X(WR_FLUSH_ERR, 5)                                                                             \
    X(MW_BIND_ERR, 6)                                                                              \
    X(BAD_RESP_ERR, 7)                                                                             \
    X(LOC_ACCESS_ERR, 8)                                                                           \
    X(REM_INV_REQ_ERR, 9)                                                                          \
    X(REM_ACCESS_ERR, 10)                                                                          \
    X(REM_OP_ERR, 11)                                                                              \
    X(RETRY_EXC_ERR, 12)                                                                           \
    X(RNR_RETRY_EXC_ERR, 13)                                                                       \
    X(LOC_RDD_VIOL_ERR, 14)                                                                        \
    X(REM_INV_RD_REQ_ERR, 15)                                                                      \
    X(REM_ABORT_ERR, 16)                                                                           \
    X(INV_EECN_ERR, 17)                                                                            \
    X(INV_EEC_STATE_ERR, 18)                                                                       \
    X(FATAL_ERR, 19)                                                                               \
    X(RESP_TIMEOUT_ERR, 20)                                                                        \
    X(GENERAL_ERR, 21)

enum rnic_wc_status {
#define X(NAME, number) RNIC_WC_##NAME = (number),
    RNIC_WC_STATUSES(X)
#undef X
};

/* Completion opcodes, with the numbers of enum ibv_wc_opcode. */
enum rnic_wc_opcode {
    RNIC_WC_SEND = 0,
    RNIC_WC_RDMA_WRITE = 1,
    RNIC_WC_RDMA_READ = 2,
    RNIC_WC_COMP_SWAP = 3,
    RNIC_WC_FETCH_ADD = 4,
    RNIC_WC_BIND_MW = 5,
    RNIC_WC_LOCAL_INV = 6,
    RNIC_WC_FLUSH = 8, /* number of the kernel's IB_UVERBS_WC_FLUSH */
    RNIC_WC_ATOMIC_WRITE = 9,
    RNIC_WC_RECV = 128,
    RNIC_WC_RECV_RDMA_WITH_IMM = 129,
};

/* Completion flags, with the numbers of enum ibv_wc_flags. */
enum rnic_wc_flags {
    RNIC_WC_GRH = 1u << 0, /* the network header precedes the payload (R172) */
    RNIC_WC_WITH_IMM = 1u << 1,
    RNIC_WC_WITH_INV = 1u << 3,
};

/* Type of a datagram's network header, with the numbers of the kernel's enum rdma_network_type. */
enum rnic_network_type { RNIC_NETWORK_V1 = 0, RNIC_NETWORK_IP4 = 1, RNIC_NETWORK_IP6 = 2 };

#define RNIC_VLAN_NONE 0xFFFFu

struct rnic_wc {
    uint64_t wr_id;
    enum rnic_wc_status status; /* after an error only wr_id, status and qpn are valid (R199) */
    enum rnic_wc_opcode opcode;
    unsigned flags;    /* bit set of enum rnic_wc_flags */
    uint32_t byte_len; /* message length, bytes; WRITE with immediate: length in its RETH (R202);
                        * datagram: payload + 40 (R172) */
    uint32_t imm;      /* immediate data; valid with RNIC_WC_WITH_IMM */
    uint32_t invalidated_key; /* key invalidated by the message; valid with RNIC_WC_WITH_INV */
    uint32_t qpn;
    uint32_t wqe;  /* number that identifies a send request of its QP (rnic_watch()); 0 for a
                    * receive */
    uint64_t time; /* time when the CQ got the completion: rnic_time, ns */
    /* Members of UD and GSI receive completions (R173); zero for other services. */
    uint32_t src_qp;
    uint16_t pkey_index; /* P_Key index into rnic_attr.pkey */
    uint16_t vlan;       /* VLAN identifier, or RNIC_VLAN_NONE */
    uint8_t smac[6];
    uint8_t network_hdr_type; /* enum rnic_network_type */
    bool solicited;           /* the message had the solicited event bit (R201) */
};

/* Steps of a send request, in this order; RESENT may occur any number of times. */
enum rnic_wr_step {
    RNIC_WR_STEP_POSTED,    /* the request is in the send queue */
    RNIC_WR_STEP_FIRST,     /* the first packet of the request was built for the first time */
    RNIC_WR_STEP_LAST,      /* the last packet of the request was built; reported again when it
                             * is retransmitted */
    RNIC_WR_STEP_RESENT,    /* a packet of the request was retransmitted */
    RNIC_WR_STEP_ANSWERED,  /* all of the request was acknowledged, or its response arrived; UC
                             * and UD: sent */
    RNIC_WR_STEP_DONE,      /* the unsignaled request ended without a completion */
    RNIC_WR_STEP_COMPLETED, /* the request ended, and its completion is being written to the CQ */
};

/* Asynchronous events, with the numbers of enum ibv_event_type. */
enum rnic_event_type {
    RNIC_EVENT_CQ_ERR = 0,
    RNIC_EVENT_QP_FATAL = 1,
    RNIC_EVENT_QP_REQ_ERR = 2,
    RNIC_EVENT_QP_ACCESS_ERR = 3,
    RNIC_EVENT_COMM_EST = 4,
    RNIC_EVENT_SQ_DRAINED = 5,
    RNIC_EVENT_SRQ_ERR = 14,
    RNIC_EVENT_SRQ_LIMIT_REACHED = 15,
    RNIC_EVENT_QP_LAST_WQE_REACHED = 16,
};

/* Counters of the transport, each with a text that describes what it counts. Counters that mlx5 has
 * too have the names of its hw_counters in sysfs. */
#define RNIC_TRANSPORT_COUNTERS(X)                                                                 \
    X(rx_send_requests, "SEND request packets executed")                                           \
    X(rx_write_requests, "WRITE request packets executed")                                         \
    X(rx_read_requests, "READ requests executed")                                                  \
    X(rx_atomic_requests, "atomic requests executed")                                              \
    X(rx_atomic_write_requests, "ATOMIC WRITE requests executed")                                  \
    X(rx_flush_requests, "FLUSH requests executed")                                                \
    X(duplicate_request, "duplicate request packets")                                              \
    X(out_of_sequence, "out-of-order request packets, ahead of the expected PSN")                  \
    X(out_of_buffer, "requests that found no receive WQE")                                         \
    X(rx_uc_dropped, "UC packets dropped because their message was dropped (R163, R165)")          \
    X(resp_remote_access_errors, "NAK 0x62 sent")                                                  \
    X(resp_invalid_request, "NAK 0x61 sent")                                                       \
    X(resp_operational_errors, "NAK 0x63 sent")                                                    \
    X(resp_rnr_nak, "RNR NAK sent")                                                                \
    X(packet_seq_nak, "NAK 0x60 sent")                                                             \
    X(packet_seq_err, "NAK 0x60 received, followed by go-back-N")                                  \
    X(implied_nak_seq_err, "implied NAKs: responses that showed the loss of a READ response or "   \
                           "Atomic ACK (R139, R140)")                                              \
    X(local_ack_timeout_err, "expiries of the local ACK timer")                                    \
    X(rnr_nak_retry_err, "RNR NAK received; the requester waited or gave up")                      \
    X(retry_exceeded_err, "requests given up because retry_cnt was used up")                       \
    X(rnr_retry_exceeded_err, "requests given up because rnr_retry was used up")                   \
    X(req_remote_invalid_request, "NAK 0x61 received that failed a request")                       \
    X(req_remote_access_errors, "NAK 0x62 received that failed a request")                         \
    X(req_remote_operational_errors, "NAK 0x63 received that failed a request")                    \
    X(bad_resp_err, "responses of wrong kind, order or length that failed a request")              \
    X(duplicate_response, "duplicate responses (R144)")                                            \
    X(tx_retransmitted, "retransmitted request packets, including restarted READs")                \
    X(rx_datagrams, "datagrams delivered to a receive WQE")                                        \
    X(qkey_viol_cntr, "datagrams dropped: wrong Q_Key (R170)")                                     \
    X(rx_datagram_too_long,                                                                        \
      "datagrams dropped: longer than the receive buffer or the MTU (R171, R174)")                 \
    X(tx_too_long, "datagrams not sent: longer than the MTU (R168)")                               \
    X(rx_no_request, "responses to PSNs that were never sent (R137)")

struct rnic_transport_counters {
#define X(name, text) uint64_t name;
    RNIC_TRANSPORT_COUNTERS(X)
#undef X
};

#endif
