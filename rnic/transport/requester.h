/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requester: the sending half of an RC or UC QP, or of an XRC initiator.
 *
 * Who calls it, in this order (the device, device/qp_io.c):
 *   1. rnic_requester_init() when the QP is created, rnic_requester_start() at RTS.
 *   2. rnic_requester_post() for each work request.
 *   3. rnic_requester_output() while rnic_requester_ready(): builds request packets one by one.
 *   4. rnic_completer_input() (completer.h) for each response: acknowledges, completes, goes back.
 *   5. rnic_requester_expire() at req->retry.deadline: retransmits after a timeout.
 *   6. rnic_requester_flush() in the error state, rnic_requester_reset() and
 *      rnic_requester_free() at the end.
 *
 * The requester owns its send queue. One thread at a time calls the requester. A request that fails
 * completes in error; a call fails only for an invalid work request or a full queue.
 *
 * The request packets have ascending positions (pos.h). Three positions divide them:
 *
 *       una            nxt                      max
 *        |  sent, not   |  to retransmit, or to |  never sent
 *        | acknowledged |  send the first time  |  (nxt == max unless something is retransmitted)
 *
 * Go-back-N is `nxt = una` (R152). una is in the oldest WQE, because all earlier ones are complete.
 * A retransmission at a position is the same packet, including AckReq (R153).
 *
 * UC has no responses: a packet counts as acknowledged when it is sent, and a WQE completes with
 * its last packet (R167). If a WQE fails before all its packets were sent, the next WQE begins with
 * the PSN after the last packet sent.
 *
 * Choices that the specification permits: AckReq is set in every Last and Only, and in the middle
 * of a message at every RNIC_ACK_EVERY-th position (R133). Credits limit the requester only after
 * the responder has sent a valid credit code (R134). The requester detects a local protection error
 * when it builds the packet. The requester then sends nothing more, and the WQE completes in error
 * after all earlier WQEs (R198). Section numbers are those of IBTA vol. 1 ch. 9, release 1.x;
 * R001.. are the rules of rnic/rules.md.
 */
#ifndef RNIC_REQUESTER_H
#define RNIC_REQUESTER_H

#include "transport/retry.h"
#include "transport/sq.h"
#include "wire/pkt.h"

/* Maximum number of unacknowledged positions: half of the PSN space, so that old and new PSNs are
 * distinguishable (R060). Only READs approach the limit, because one READ request uses a PSN for
 * each response packet. */
#define RNIC_PSN_SPAN (UINT64_C(1) << 23)

/* Default maximum of unacknowledged SEND and WRITE packets: 1 MiB at a path MTU of 4096. This
 * exceeds the packets in flight on a local path. It also limits the number of packets that an
 * overloaded receiver can lose. */
#define RNIC_WINDOW 256u

/* Maximum distance between two packets with AckReq: a quarter of the window, so that ACKs arrive
 * before the window is used up. */
#define RNIC_ACK_EVERY 64u

/* Reason why no request packet can be sent now; OPEN if a packet can be sent. */
#define RNIC_REQ_GATES(X)                                                                          \
    X(OPEN, "a packet can be sent")                                                                \
    X(STOPPED, "the QP state does not allow sending")                                              \
    X(EMPTY, "nothing to send")                                                                    \
    X(RNR_WAIT, "the requester waits after an RNR NAK (R156)")                                     \
    X(FAULT, "the next WQE is invalid; it completes in error after the previous WQEs (R198)")      \
    X(LOCAL, "a local operation waits for all previous work requests (R132)")                      \
    X(DRAIN, "no new message in SQD (R191)")                                                       \
    X(WINDOW, "too many PSNs are outstanding (R060)")                                              \
    X(RD_ATOMIC, "max_rd_atomic READs and atomics are outstanding (R130)")                         \
    X(FENCE, "an earlier READ or atomic is outstanding (R131)")                                    \
    X(CREDIT, "the responder has no free receive WQE (R134, R135)")

enum rnic_req_gate {
#define X(NAME, text) RNIC_REQ_##NAME,
    RNIC_REQ_GATES(X)
#undef X
};

/* Attributes of a QP in RTS. */
struct rnic_requester_attr {
    enum roce_svc svc; /* service: RC, UC, XRC or UD */
    uint32_t path_mtu; /* path MTU, bytes */
    uint32_t dest_qpn;
    uint16_t pkey;
    uint32_t qpn;          /* UD, GSI: own QPN, sent in the DETH (R169) */
    uint32_t qkey;         /* UD, GSI: Q_Key of the QP (R169) */
    roce_psn sq_psn;       /* PSN of the first request */
    uint8_t max_rd_atomic; /* maximum number of outstanding READs and atomics, 0..RNIC_RD_ATOMIC_MAX
                            * (R130) */
    uint8_t timeout;       /* local ACK timeout code, 0..31 (R149) */
    uint8_t retry_cnt;     /* retry count, 0..7 (R154) */
    uint8_t rnr_retry;     /* RNR retry count, 0..7 (R157) */
};

struct rnic_requester {
    const struct rnic_transport_ops *ops;
    void *qp; /* context for the functions in ops */
    struct rnic_transport_counters *counters;
    struct rnic_requester_attr attr;
    uint32_t window; /* maximum number of unacknowledged SEND and WRITE packets; the device sets
                      * this number before the start */
    uint32_t lsn;    /* last SSN that credits allow (R135), 24 bit; valid while `limited` */
    struct rnic_retry retry;

    rnic_pos una; /* oldest unacknowledged position */
    rnic_pos nxt; /* position of the next packet to send, una <= nxt <= max */
    rnic_pos max; /* position after the last packet ever sent */

    /* Position and time of the response packet that the steps of completer.c are processing. */
    rnic_pos response_pos;
    uint64_t response_time;

    /* Counters of READs, atomics, FLUSHes and ATOMIC WRITEs, in the WQEs from index sq.head up to,
     * but without, index cur. */
    rnic_pos fetch_psns; /* number of unacknowledged positions, which `window` does not limit */
    uint32_t fetch_cnt;  /* number of WQEs */

    uint32_t cur; /* index of the WQE that is sent or executed next; sq.tail if there is none */
    struct rnic_sq sq;
    bool started;
    bool draining;  /* the QP is in SQD */
    bool watched;   /* ops->step() is called for each step of a WQE; the device may change this flag
                     * at any time */
    bool restarted; /* the requester has already gone back to una after a NAK or implied NAK
                     * (R161) */
    bool limited;   /* the responder sends credits, which limit the requester */
    bool ignore_credits; /* credits are ignored; the device sets it before the start */
    bool
        endless_retries; /* the retry count is never used up; the device sets it before the start */
};

/* Initializes a stopped requester. `counters` and `ops` must outlive the requester. The send queue
 * has the limits of rnic_sq_init(). Returns false if out of memory. */
bool rnic_requester_init(struct rnic_requester *req, const struct rnic_transport_ops *ops, void *qp,
                         struct rnic_transport_counters *counters, uint32_t max_send_wr,
                         uint32_t max_send_sge, uint32_t max_inline);

/* Frees the send queue; a zeroed requester is allowed. */
void rnic_requester_free(struct rnic_requester *req);

/* Starts a connection; the send queue must be empty. The caller has checked the ranges of *attr. */
void rnic_requester_start(struct rnic_requester *req, const struct rnic_requester_attr *attr);

/* Resets the connection and drops all WQEs, which get no completion (R190). */
void rnic_requester_reset(struct rnic_requester *req);

/* Stops the requester and completes all WQEs with WR_FLUSH_ERR, the oldest first (R189). */
void rnic_requester_flush(struct rnic_requester *req);

/* Moves the QP from SQE to RTS: the requester continues with the next PSN. The send queue must be
 * empty. */
void rnic_requester_resume(struct rnic_requester *req);

/* Enters or leaves SQD. While draining, the requester begins no new message (R191). When draining
 * ends, the local operations that waited for the end are executed before this function returns.
 * They may call ops->failed(). */
void rnic_requester_drain(struct rnic_requester *req, bool draining);

/* Returns whether the QP is draining and every message already started is complete. */
bool rnic_requester_drained(const struct rnic_requester *req);

/* Posts a work request with rnic_sq_post(). Returns INVALID also for an operation that the service
 * does not support. If a local operation need not wait, it is executed and completed at once, and
 * ops->failed() may be called. */
enum rnic_sq_post rnic_requester_post(struct rnic_requester *req, const struct rnic_send_wr *wr);

/* Returns whether *wr is valid for rnic_requester_post(). Does not check whether the queue is
 * full. */
bool rnic_requester_accepts(const struct rnic_requester *req, const struct rnic_send_wr *wr);

enum rnic_req_gate rnic_requester_gate(const struct rnic_requester *req);

/* Returns whether rnic_requester_output() has a packet to send. */
static inline bool rnic_requester_ready(const struct rnic_requester *req)
{
    return rnic_requester_gate(req) == RNIC_REQ_OPEN;
}

/* Returns whether the next packet is a complete WRITE without immediate data that is sent for the
 * first time. The peer's program gets no completion for such a WRITE. */
bool rnic_requester_next_is_single_write(const struct rnic_requester *req);

/* Builds the next request packet: fills in *pkt from the BTH on and returns true, or returns false
 * if no packet can be sent. The Ethernet, IP and UDP headers in *pkt do not change. The payload
 * points into registered memory, the queue, or `scratch` (path MTU bytes); the caller copies it
 * before any other call. */
bool rnic_requester_output(struct rnic_requester *req, struct roce_pkt *pkt, uint8_t *scratch,
                           uint64_t now);

/* Handles the expiry of the ACK timer or the RNR wait. Does nothing before req->retry.deadline. */
void rnic_requester_expire(struct rnic_requester *req, uint64_t now);

/* Returns the PSN of the next new request. */
static inline roce_psn rnic_requester_psn(const struct rnic_requester *req)
{
    return rnic_pos_psn(req->attr.sq_psn, req->max);
}

/* ---- functions for completer.c --------------------------------------------------------------- */

/* Starts a go-back-N: the next packet sent is the one at una (R152). */
void rnic_requester_go_back(struct rnic_requester *req);

/* Uses one retry after a timeout, a sequence NAK or an implied NAK, and goes back to una. If no
 * retry is left, the oldest WQE fails (R154). */
void rnic_requester_retry(struct rnic_requester *req);

/* Acknowledges the packets of the oldest WQE before `pos`. The WQE completes if `pos` is its end
 * (R138). */
void rnic_requester_answered(struct rnic_requester *req, rnic_pos pos);

/* Reports a step of the WQE with index `idx` to ops->step(), if the requester is watched. */
static inline void rnic_requester_report_step(const struct rnic_requester *req, uint32_t idx,
                                              enum rnic_wr_step step)
{
    if (req->watched)
        req->ops->step(req->qp, idx | RNIC_WQE_NUMBER, step, NULL);
}

/* Completes the oldest WQE. If the WQE is unsignaled, only an error writes a completion (R198). */
void rnic_requester_complete(struct rnic_requester *req, enum rnic_wc_status status);

/* Completes the oldest WQE with `status` and stops the requester (R146, R189). */
void rnic_requester_fail(struct rnic_requester *req, enum rnic_wc_status status);

/* Executes local operations that waited for a response, and restarts or stops the ACK timer (R151).
 */
void rnic_requester_after_response(struct rnic_requester *req, uint64_t now);

#endif
