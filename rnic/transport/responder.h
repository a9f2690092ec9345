/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responder: the receiving half of an RC QP, or of an XRC target. It executes SEND, WRITE, READ,
 * atomics, ATOMIC WRITE and FLUSH (annex A19).
 *
 * Who calls it, in this order (the device, device/qp_io.c):
 *   1. rnic_responder_init() when the QP is created, rnic_responder_start() at RTR.
 *   2. rnic_responder_input() for each request packet. The packet passes the steps of
 *      RNIC_RESP_STEPS in the order of the specification (R071). A bad packet causes a NAK and
 *      a completion or event, never an error code.
 *   3. rnic_responder_output() for each response packet. The responder calls ops->ready() when
 *      the first response is queued.
 *   4. rnic_responder_posted() after a receive WQE was posted.
 *   5. rnic_responder_flush() in the error state, rnic_responder_reset() and rnic_responder_free()
 *      at the end.
 *
 * The responder owns its receive queue, unless it uses an SRQ. One thread at a time calls the
 * responder.
 *
 * Section numbers are those of IBTA vol. 1 ch. 9, release 1.x; C9-n are its compliance statements
 * as other sources quote them; R001.. are the rules of rnic/rules.md. XRC is Annex A14: the rules
 * are the same (R181), but each request names the SRQ, which supplies receive WQEs and the
 * protection domain. uc.h has the parts that only UC needs.
 *
 * Choices that the specification permits:
 *   - An ACK is sent only for AckReq (R099). A duplicate without AckReq is acknowledged only if it
 *     is the newest packet (R110).
 *   - An unsolicited ACK is sent when a receive WQE is posted after an ACK with zero credits
 *     (R134).
 *   - An unknown XRC SRQ number, or one that changes within a message, causes NAK 0x62, with the
 *     event that hns_roce and qedr report (R180).
 *   - Reserved opcodes, and those that this device lacks, cause NAK 0x61 (R031, R126; as hfi1
 *     does).
 *   - Atomic ACK and READ response carry the MSN of their own request. The response to a duplicate
 *     carries the current MSN (R103).
 *   - If the missing request arrives while the sequence NAK is still in the queue, the responder
 *     changes the NAK: it gets the PSN of the next missing request, or becomes an ACK (R067). hfi1
 *     drops such a NAK instead.
 */
#ifndef RNIC_RESPONDER_H
#define RNIC_RESPONDER_H

#include "transport/message.h"
#include "transport/response_queue.h"

/* Steps of the responder, each with its function: first the steps of a valid request in the order
 * of execution, then the steps of duplicates, then the steps of refused requests. */
#define RNIC_RESP_STEPS(X)                                                                         \
    X(CHECK_PSN, check_psn)                                                                        \
    X(CHECK_OP_SEQ, check_op_seq)                                                                  \
    X(CHECK_OP_VALID, check_op_valid)                                                              \
    X(CHECK_SRQ, check_srq)                                                                        \
    X(CHECK_RESOURCE, check_resource)                                                              \
    X(CHECK_LENGTH, check_length)                                                                  \
    X(CHECK_RKEY, check_rkey)                                                                      \
    X(EXECUTE_SEND, execute_send)                                                                  \
    X(EXECUTE_WRITE, execute_write)                                                                \
    X(EXECUTE_READ, execute_read)                                                                  \
    X(EXECUTE_ATOMIC, execute_atomic)                                                              \
    X(EXECUTE_ATOMIC_WRITE, execute_atomic_write)                                                  \
    X(EXECUTE_FLUSH, execute_flush)                                                                \
    X(INVALIDATE, invalidate)                                                                      \
    X(ADVANCE, advance)                                                                            \
    X(COMPLETE, complete)                                                                          \
    X(ACKNOWLEDGE, acknowledge)                                                                    \
    X(DUPLICATE, duplicate)                                                                        \
    X(DUPLICATE_READ, duplicate_read)                                                              \
    X(DUPLICATE_ATOMIC, duplicate_atomic)                                                          \
    X(DUPLICATE_ACK, duplicate_ack)                                                                \
    X(NAK_PSN_SEQ, nak_psn_seq)                                                                    \
    X(NAK_RNR, nak_rnr)                                                                            \
    X(NAK_INVALID_REQ, nak_invalid_req)                                                            \
    X(NAK_XRCETH, nak_xrceth)                                                                      \
    X(NAK_TOO_LONG, nak_too_long)                                                                  \
    X(NAK_ACCESS, nak_access)                                                                      \
    X(NAK_INVALIDATE, nak_invalidate)                                                              \
    X(NAK_OPERATIONAL, nak_operational)                                                            \
    X(DROP, drop)

enum rnic_resp_step {
#define X(NAME, function) RNIC_RESP_##NAME,
    RNIC_RESP_STEPS(X)
#undef X
        RNIC_RESP_DONE
};

/* State after a NAK. SEQ: the responder queued or sent a sequence NAK for a PSN gap. RNR: it queued
 * or sent an RNR NAK for a missing receive WQE. In both states it sends no further sequence NAK.
 * The request with the expected PSN ends the state (R068, R070). */
enum rnic_nak_state { RNIC_NAK_NONE, RNIC_NAK_SEQ, RNIC_NAK_RNR };

/* Attributes of a QP in RTR. */
struct rnic_responder_attr {
    enum roce_svc svc; /* service: RC, UC, XRC or UD */
    bool credits;      /* ACKs carry the number of free receive WQEs (R106, R107); RC only */
    unsigned access;   /* enum rnic_access: operations that the peer may execute (R075) */
    uint32_t path_mtu; /* path MTU, bytes */
    uint32_t dest_qpn; /* QPN of the peer, sent in every response (R043) */
    uint16_t pkey;     /* P_Key of the responses (R045) */
    uint32_t qkey;     /* UD, GSI: Q_Key (R170) */
    roce_psn rq_psn;   /* PSN of the first request */
    uint32_t rq_msn;   /* MSN before the first request, 24 bit */
    uint8_t max_dest_rd_atomic; /* maximum number of responder resources, 0..RNIC_RD_ATOMIC_MAX */
    uint8_t min_rnr_timer;      /* minimum RNR timer code, 0..31 (R097) */
};

struct rnic_responder {
    const struct rnic_transport_ops *ops;
    void *qp; /* context for the functions in ops */
    struct rnic_transport_counters *counters;
    struct rnic_responder_attr attr;

    rnic_pos epos;    /* position of the expected PSN (ePSN) */
    rnic_pos gap_end; /* position after the last request dropped since the sequence NAK; 0 if none
                       * was dropped */
    uint32_t msn;     /* messages completed (MSN), 24 bit (R102) */
    enum rnic_nak_state nak;
    bool failed;            /* a fatal NAK is queued or was sent: the responder executes no more
                             * requests */
    bool sent_zero_credits; /* the last ACK reported zero credits (R134) */
    uint32_t srqn;          /* XRC: SRQ number of the current request; the SRQ's protection domain
                             * applies */
    uint8_t *mem;           /* memory of the current request; set by CHECK_RKEY */
    struct rnic_rq *recv_queue; /* queue that supplies receive WQEs: &rq or the queue of an SRQ */
    struct rnic_message msg;
    struct rnic_rq rq;

    /* These members are last, because a WRITE or SEND uses only the first cache line of each of
     * them. */
    struct rnic_response_queue responses;
    struct rnic_respres_ring resources;
};

/* Initializes a stopped responder. `counters`, `ops` and `shared` must outlive the responder. If
 * `shared` is NULL, the responder has its own receive queue, with the limits of rnic_rq_init().
 * Returns false if out of memory. */
bool rnic_responder_init(struct rnic_responder *resp, const struct rnic_transport_ops *ops,
                         void *qp, struct rnic_transport_counters *counters, struct rnic_rq *shared,
                         uint32_t max_recv_wr, uint32_t max_recv_sge);

/* Frees the receive queue; a zeroed responder is allowed. */
void rnic_responder_free(struct rnic_responder *resp);

/* Starts a connection and keeps posted receive WQEs. The caller has checked the ranges of *attr. */
void rnic_responder_start(struct rnic_responder *resp, const struct rnic_responder_attr *attr);

/* Resets the connection, drops queued responses and frees the receive WQEs, which get no completion
 * (R190). */
void rnic_responder_reset(struct rnic_responder *resp);

/* Drops queued responses and executes no more requests, because a modify-QP call moved the QP to
 * the error state. */
void rnic_responder_stop(struct rnic_responder *resp);

/* Completes and frees the receive WQE of the current message, resp->msg.wqe. */
void rnic_responder_finish(struct rnic_responder *resp, struct rnic_wc *wc);

/* Completes all receive WQEs with WR_FLUSH_ERR, starting with the receive WQE of the current
 * message (R189). WQEs in an SRQ do not belong to this QP. */
void rnic_responder_flush(struct rnic_responder *resp);

/* Queues a new ACK after a receive WQE was posted, if the last ACK had zero credits (R134). */
void rnic_responder_posted(struct rnic_responder *resp);

/* Drops the receive WQE of a message in progress, because the SRQ `shared` is destroyed. */
void rnic_responder_srq_gone(struct rnic_responder *resp, const struct rnic_rq *shared);

/* Processes a request packet of the RC or XRC service. The caller has checked its format, ICRC,
 * addresses, P_Key and the QP state; the payload is complete. For UC see uc.h. Returns the last
 * step. ops->ready() is called when the first response is queued. */
enum rnic_resp_step rnic_responder_input(struct rnic_responder *resp, const struct roce_pkt *pkt);

/* Builds the next response: fills in *pkt from the BTH on and returns true, or returns false if
 * none is queued. The Ethernet, IP and UDP headers in *pkt do not change. The payload points into
 * registered memory; the caller copies it before any other call. */
bool rnic_responder_output(struct rnic_responder *resp, struct roce_pkt *pkt);

/* Returns whether rnic_responder_output() has a packet to send. */
static inline bool rnic_responder_ready(const struct rnic_responder *resp)
{
    return resp->responses.cnt != 0;
}

/* Returns the expected PSN of the next request. */
static inline roce_psn rnic_responder_epsn(const struct rnic_responder *resp)
{
    return roce_psn_add(resp->attr.rq_psn, (int32_t)(resp->epos & ROCE_PSN_MASK));
}

#endif
