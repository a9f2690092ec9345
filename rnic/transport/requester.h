/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requester: the sending half of an RC or UC QP, or an XRC initiator. Work requests go in; request
 * packets come out one at a time, when the device has room to send; completer.h takes the
 * responses. IBTA vol. 1 ch. 9, section numbers refer to release 1.x of it; R001.. are the rules of
 * rnic/rules.md.
 *
 * The request stream is a row of positions (pos.h). Three of them say it all:
 *
 *       una            nxt                      max
 *        |  sent,       |  to be sent again, or  |  never sent
 *        |  unanswered  |  for the first time    |  (nxt == max when nothing is repeated)
 *
 * Go-back-N is `nxt = una` (R152): una lies in the oldest WQE, for everything before it is
 * complete. The packet at a position is always the same one, AckReq included (R153).
 *
 * UC has no responses: a packet counts as answered when it is sent, so that nothing is ever
 * outstanding and a WQE completes with its last packet (R167). A WQE that fails leaves no PSN that
 * was not sent: what is posted after the queue starts again follows what was sent last.
 *
 * Choices where the specification leaves one: AckReq in every Last and Only, and in the middle of a
 * message every RNIC_ACK_EVERY positions (R133); credits are not limited until the responder gives
 * a valid code (R134); a local protection error is met when the packet is made, stops the sending
 * there, and completes after everything before it (R198).
 */
#ifndef RNIC_REQUESTER_H
#define RNIC_REQUESTER_H

#include "transport/retry.h"
#include "transport/sq.h"
#include "wire/pkt.h"

/* Positions that may be unanswered at a time: half the circle, else old and new look alike (R060).
 * Only READs come near it, whose request is one packet. */
#define RNIC_PSN_SPAN (UINT64_C(1) << 23)

/* SEND and WRITE packets that may be unanswered at a time unless the user says otherwise: 1 MiB at
 * a path MTU of 4096, more than any local path holds, and what a receiver loses at worst when it
 * cannot keep up. */
#define RNIC_WINDOW 256u

/* Two packets that ask for an acknowledgement are never further apart: a quarter of the window, so
 * that it never runs dry. */
#define RNIC_ACK_EVERY 64u

/* Whether a request packet can be sent now, or what it waits for. */
#define RNIC_REQ_GATES(X)                                                                          \
    X(OPEN, "a packet can be sent")                                                                \
    X(STOPPED, "not in a state to send")                                                           \
    X(EMPTY, "nothing to send")                                                                    \
    X(RNR_WAIT, "the responder was not ready (R156)")                                              \
    X(FAULT, "the next WQE cannot be sent; it fails in its turn (R198)")                           \
    X(LOCAL, "a local operation waits for all before it (R132)")                                   \
    X(DRAIN, "no new message in SQD (R191)")                                                       \
    X(WINDOW, "too much is unanswered (R060)")                                                     \
    X(RD_ATOMIC, "max_rd_atomic READs and atomics are outstanding (R130)")                         \
    X(FENCE, "an earlier READ or atomic is outstanding (R131)")                                    \
    X(CREDIT, "the responder has no receive WQE to spare (R134, R135)")

enum rnic_req_gate {
#define X(NAME, text) RNIC_REQ_##NAME,
    RNIC_REQ_GATES(X)
#undef X
};

/* What a QP must know of its peer to be RTS. */
struct rnic_requester_attr {
    enum roce_svc svc; /* RC, UC or XRC */
    uint32_t path_mtu; /* bytes */
    uint32_t dest_qpn;
    uint16_t pkey;
    uint32_t qpn;          /* UD, GSI: the own one, for the DETH (R169) */
    uint32_t qkey;         /* UD, GSI: the QP's own (R169) */
    roce_psn sq_psn;       /* of the first request */
    uint8_t max_rd_atomic; /* 0..RNIC_RD_ATOMIC_MAX (R130) */
    uint8_t timeout;       /* code 0..31 (R149) */
    uint8_t retry_cnt;     /* 0..7 (R154) */
    uint8_t rnr_retry;     /* 0..7 (R157) */
};

#define RNIC_WQE_NUMBER 0x80000000u /* set in the numbers of WQEs that the host hears */

struct rnic_requester {
    const struct rnic_transport_ops *ops;
    void *qp; /* the host's */
    struct rnic_transport_counters *counters;
    struct rnic_requester_attr attr;
    uint32_t window; /* SEND and WRITE packets unanswered at a time; set by the host before it
                        starts */
    uint32_t lsn;    /* limited: messages up to this SSN may be sent (R135), 24 bit */
    struct rnic_retry retry;

    rnic_pos una; /* oldest position not answered */
    rnic_pos nxt; /* next one to send, una <= nxt <= max */
    rnic_pos max; /* after the last one ever sent */

    /* The response in hand, for the steps of completer.c. */
    rnic_pos response_pos;
    uint64_t response_time;

    /* Of the WQEs from sq.head up to, not including, cur: */
    rnic_pos
        fetch_psns;     /* positions of those READs not answered: they take no room in the window */
    uint32_t fetch_cnt; /* READs and atomics */

    struct rnic_sq sq;
    uint32_t cur; /* WQE in which nxt lies, or the first behind it; sq.tail if there is none */
    bool started;
    bool draining;       /* SQD */
    bool watched;        /* the host hears of each step; set by the host at any time */
    bool restarted;      /* a NAK or implied NAK at una was acted on (R161) */
    bool limited;        /* the responder gives credits */
    bool ignore_credits; /* credits are not heeded; set by the host before it starts */
};

/* `counters` and `ops` outlive the requester. Send queue as rnic_sq_init(); false without memory.
 * The requester is stopped. */
bool rnic_requester_init(struct rnic_requester *req, const struct rnic_transport_ops *ops, void *qp,
                         struct rnic_transport_counters *counters, uint32_t max_send_wr,
                         uint32_t max_send_sge, uint32_t max_inline);

/* A zeroed requester is fine. */
void rnic_requester_free(struct rnic_requester *req);

/* Begins a connection; the queue is empty. The caller has checked the ranges of *attr. */
void rnic_requester_start(struct rnic_requester *req, const struct rnic_requester_attr *attr);

/* Forgets the connection; WQEs are dropped without completions (R190). */
void rnic_requester_reset(struct rnic_requester *req);

/* Completes all WQEs with WR_FLUSH_ERR, the oldest first (R189). The requester is stopped. */
void rnic_requester_flush(struct rnic_requester *req);

/* SQE to RTS: sends again, beginning with the next PSN. The queue is empty. */
void rnic_requester_resume(struct rnic_requester *req);

/* SQD and back: no message is begun while draining (R191). A local operation that waited for the
 * end of it is done before this returns, and the host may be told of a failure. */
void rnic_requester_drain(struct rnic_requester *req, bool draining);

/* Draining, and every message begun is complete. */
bool rnic_requester_drained(const struct rnic_requester *req);

/* As rnic_sq_post(); INVALID also for an operation that the service does not have. A local
 * operation that need not wait is done, and completes, at once. The host may be told of a failure
 * before this returns. */
enum rnic_sq_post rnic_requester_post(struct rnic_requester *req, const struct rnic_send_wr *wr);

/* Whether that is not INVALID. */
bool rnic_requester_accepts(const struct rnic_requester *req, const struct rnic_send_wr *wr);

enum rnic_req_gate rnic_requester_gate(const struct rnic_requester *req);

/* Whether rnic_requester_output() is worth calling. */
static inline bool rnic_requester_ready(const struct rnic_requester *req)
{
    return rnic_requester_gate(req) == RNIC_REQ_OPEN;
}

/* Whether the packet that could be sent now is the whole of a WRITE without immediate data, never
 * sent before: nothing completes at the peer with it. */
bool rnic_requester_next_is_single_write(const struct rnic_requester *req);

/*
 * The next request packet: fills in *pkt from the BTH on and returns true, or false if none can be
 * sent. The envelope in *pkt stays as it is. Its payload points into registered memory, the queue,
 * or `scratch` (path MTU bytes), and is to be copied before any other call.
 */
bool rnic_requester_output(struct rnic_requester *req, struct roce_pkt *pkt, uint8_t *scratch,
                           uint64_t now);

/* Lets the timer fire if it is due. When that is: req->retry.deadline. */
void rnic_requester_expire(struct rnic_requester *req, uint64_t now);

/* The PSN of the next request that was never sent. */
static inline roce_psn rnic_requester_psn(const struct rnic_requester *req)
{
    return rnic_pos_psn(req->attr.sq_psn, req->max);
}

/* ---- for completer.c ---------------------------------------------------------------------------
 */

/* What is sent next is una again (R152). */
void rnic_requester_go_back(struct rnic_requester *req);

/* A retry for a timeout, a sequence NAK or an implied NAK: goes back, or fails the oldest WQE if
 * none is left (R154). */
void rnic_requester_retry(struct rnic_requester *req);

/* The oldest WQE is answered up to `pos`, at most its end, where it is complete (R138). */
void rnic_requester_answered(struct rnic_requester *req, rnic_pos pos);

/* Tells the host, if it watches, what happened to the WQE of this index. */
static inline void rnic_requester_report_step(const struct rnic_requester *req, uint32_t idx,
                                              enum rnic_wr_step step)
{
    if (req->watched)
        req->ops->step(req->qp, idx | RNIC_WQE_NUMBER, step, NULL);
}

/* The oldest WQE is done; an unsignaled one only tells of errors (R198). */
void rnic_requester_complete(struct rnic_requester *req, enum rnic_wc_status status);

/* The oldest WQE ends with `status`, and with it the connection (R146, R189). */
void rnic_requester_fail(struct rnic_requester *req, enum rnic_wc_status status);

/* After responses were dealt with: local operations whose turn it is, and the timer (R151). */
void rnic_requester_after_response(struct rnic_requester *req, uint64_t now);

#endif
