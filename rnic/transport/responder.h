/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responder: the receiving half of an RC QP, or of an XRC target. Request packets go in, one call
 * each; the responses it owes come out one at a time, when the device has room to send. It serves
 * SEND, WRITE, READ, the atomics, ATOMIC WRITE and FLUSH (annex A19) as IBTA vol. 1 ch. 9 says,
 * section numbers refer to release 1.x of it; C9-n are its compliance statements as notes of others
 * quote them, R001.. the rules of rnic/rules.md. XRC is Annex A14: the same rules (R181), but that
 * each request names the SRQ that gives the receive WQEs and whose protection domain keys are
 * looked up in. What it does not share with UC is here; uc.h is the rest of that service.
 *
 * A request packet walks through named steps in the specification's order (R071). What a step finds
 * wrong with a packet is an answer on the wire and a completion or event, never an error code.
 *
 * Choices where the specification leaves one: ACKs only for AckReq (R099), for a duplicate
 * without it only if it is the newest packet (R110), an ACK that nobody asked for when a receive
 * WQE is posted after the peer was told of none (R134), NAK 0x62 for an XRC SRQ number that means
 * nothing here or that changes within a message, with the event that hns_roce and qedr give for it
 * (R180), NAK 0x61 for opcodes this device lacks and for reserved ones (R031, R126; as hfi1 does),
 * Atomic ACK and READ response carry the MSN of their own request, replays the current one (R103),
 * a sequence NAK that could not leave before the request it asks for came asks for what is missing
 * then, or if nothing is, is the ACK that it contains (R067; hfi1 takes such a NAK back, too).
 */
#ifndef RNIC_RESPONDER_H
#define RNIC_RESPONDER_H

#include "transport/message.h"
#include "transport/response_queue.h"

/* The steps, in the order in which a good request takes them, then duplicates, then failures. */
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

/* Which NAK for a gap or for missing buffers is owed or went out last; none other does until the
 * expected PSN arrives (R068, R070). */
enum rnic_nak_state { RNIC_NAK_NONE, RNIC_NAK_SEQ, RNIC_NAK_RNR };

/* What a QP must know of its peer to be RTR. */
struct rnic_responder_attr {
    enum roce_svc svc;          /* RC, UC or XRC */
    bool credits;               /* ACKs tell how many receive WQEs there are (R106, R107); RC */
    unsigned access;            /* enum rnic_access granted to the peer (R075) */
    uint32_t path_mtu;          /* bytes */
    uint32_t dest_qpn;          /* of the peer, goes into every response (R043) */
    uint16_t pkey;              /* R045 */
    uint32_t qkey;              /* UD, GSI (R170) */
    roce_psn rq_psn;            /* of the first request */
    uint32_t rq_msn;            /* before the first request, 24 bit */
    uint8_t max_dest_rd_atomic; /* 0..RNIC_RD_ATOMIC_MAX */
    uint8_t min_rnr_timer;      /* code 0..31 (R097) */
};

struct rnic_responder {
    const struct rnic_transport_ops *ops;
    void *qp; /* the host's */
    struct rnic_transport_counters *counters;
    struct rnic_responder_attr attr;

    rnic_pos epos;    /* position of the expected PSN: PSNs consumed so far */
    rnic_pos gap_end; /* after the farthest request dropped since a sequence NAK was owed, or 0 */
    uint32_t msn;     /* messages completed, 24 bit (R102) */
    enum rnic_nak_state nak;
    bool failed;                /* a fatal NAK is owed or was sent: nothing is executed any more */
    bool sent_zero_credits;     /* the peer was told last that there is no receive WQE (R134) */
    uint32_t srqn;              /* XRC: the SRQ of the request in hand, whose keys it uses */
    uint8_t *mem;               /* what the packet in hand may touch; CHECK_RKEY sets it */
    struct rnic_rq *recv_queue; /* where receive WQEs are taken: &rq or that of an SRQ */
    struct rnic_message msg;
    struct rnic_rq rq;

    /* The last, because a WRITE or SEND touches no more than the first of each. */
    struct rnic_response_queue responses;
    struct rnic_respres_ring resources;
};

/* `counters`, `ops` and `shared` outlive the responder. With `shared` NULL it has a receive queue
 * of its own, as rnic_rq_init(); false without memory. The responder is stopped. */
bool rnic_responder_init(struct rnic_responder *resp, const struct rnic_transport_ops *ops,
                         void *qp, struct rnic_transport_counters *counters, struct rnic_rq *shared,
                         uint32_t max_recv_wr, uint32_t max_recv_sge);

/* A zeroed responder is fine. */
void rnic_responder_free(struct rnic_responder *resp);

/* Begins a connection; posted receive WQEs stay. The caller has checked the ranges of *attr. */
void rnic_responder_start(struct rnic_responder *resp, const struct rnic_responder_attr *attr);

/* Forgets the connection and what is owed; receive WQEs are freed without completions (R190). */
void rnic_responder_reset(struct rnic_responder *resp);

/* What is owed is not sent any more: the QP was moved to the error state from outside. */
void rnic_responder_stop(struct rnic_responder *resp);

/* Completes the WQE in use, resp->msg.wqe, and gives it back. */
void rnic_responder_finish(struct rnic_responder *resp, struct rnic_wc *wc);

/* Completes all receive WQEs with WR_FLUSH_ERR, the one in use first (R189). Those still in an SRQ
 * are not this QP's. */
void rnic_responder_flush(struct rnic_responder *resp);

/* A receive WQE was posted: a peer that was told there was none hears of it (R134). */
void rnic_responder_posted(struct rnic_responder *resp);

/* The SRQ that `shared` belongs to goes away: the WQE of a message in progress is forgotten. */
void rnic_responder_srq_gone(struct rnic_responder *resp, const struct rnic_rq *shared);

/*
 * A request packet of the RC or XRC service arrived whose form, ICRC, addresses, P_Key and QP state
 * are right; its payload is whole. For UC see uc.h. Returns the last step it took. Responses are
 * owed afterwards; the host learns of the first by ready().
 */
enum rnic_resp_step rnic_responder_input(struct rnic_responder *resp, const struct roce_pkt *pkt);

/*
 * The next response: fills in *pkt from the BTH on and returns true, or false if nothing is owed.
 * The envelope in *pkt stays as it is. Its payload points into registered memory and is to be
 * copied before any other call.
 */
bool rnic_responder_output(struct rnic_responder *resp, struct roce_pkt *pkt);

/* Whether rnic_responder_output() is worth calling. */
static inline bool rnic_responder_ready(const struct rnic_responder *resp)
{
    return resp->responses.cnt != 0;
}

/* The PSN expected next. */
static inline roce_psn rnic_responder_epsn(const struct rnic_responder *resp)
{
    return roce_psn_add(resp->attr.rq_psn, (int32_t)(resp->epos & ROCE_PSN_MASK));
}

#endif
