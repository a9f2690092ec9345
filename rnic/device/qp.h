/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Queue pair: state (R183), address vector, and the requester and responder of the transport.
 * Creation is in qp.c, states and attributes in qp_modify.c. Work requests, packets and the
 * callbacks of the transport (transport/transport_ops.h) are in qp_io.c.
 */
#ifndef RNIC_QP_H
#define RNIC_QP_H

#include "device/cnp.h"
#include "device/cq.h"
#include "device/list.h"
#include "device/pd.h"
#include "device/service.h"
#include "device/srq.h"
#include "device/timer.h"
#include "transport/completer.h"
#include "transport/uc.h"
#include "transport/ud.h"
#include "wire/header_template.h"

/*
 * A QP. Members are sorted by use, because with 100,000 QPs the QP of a packet is rarely in a
 * cache. The first cache lines of 64 bytes contain the members that every packet and request needs.
 * Members for READs, atomics and modify are at the end.
 */
struct rnic_qp {
    /* Cache line 0: members that every packet needs. */
    struct rnic_pd *pd;
    const struct rnic_service *service;
    struct rnic_list ready; /* link in rnic.ready while the QP may have packets to send */
    struct rnic_cc *cc;     /* congestion state; NULL if the device has no congestion management */
    uint32_t qpn;
    enum rnic_qp_type type : 8;
    enum rnic_qp_state state : 8;
    enum roce_encap encap : 8; /* encapsulation of all packets that the QP sends or accepts; valid
                                * from RTR on, as are av, sgid and env */
    uint16_t pkey;             /* P_Key of the QP; valid from INIT on, as are access and qkey */
    bool comm_est;             /* a valid packet arrived after the transition to RTR (R055) */
    bool drained; /* SQD: the event "send queue drained" was raised, or was not requested (R191) */
    bool turn;    /* true: the requester had priority for the last packet, so the responder has
                   * priority for the next packet; false: the reverse */
    bool passed;  /* true: a WRITE was sent before the pending ACK, so the ACK must be sent before
                   * any other request */
    bool ack_delayed; /* true: the QP's ACK is delayed, and the link `ready` is in the list
                       * rnic.delayed_ack */
    bool credits;     /* ACKs of the QP report the number of receive WQEs (R106) */
    bool cq_lost;     /* a completion of the QP was lost: the QP must enter ERR (R200) */
    uint32_t events;  /* bit set of pending event types, see event.h */

    /* Cache line 1: address vector, send CQ. */
    struct rnic_av av; /* address vector with resolved hop_limit and udp_sport */
    uint8_t sgid[16];  /* source GID of the QP, copied from the device's table on entry to RTR */
    struct rnic_cq *send_cq; /* CQ for send completions; NULL if there is no send queue */

    /* Cache lines 2 and 3: envelope, receive CQ. */
    struct roce_header_template env; /* envelope of all packets that the QP sends */
    struct rnic_cq *recv_cq;         /* CQ for receive completions; NULL if there is no receive
                                      * queue */
    struct rnic_timer timer;
    struct rnic_list armed; /* link in rnic.armed */

    struct rnic_requester req;
    struct rnic_responder resp;

    unsigned access;
    uint32_t qkey;            /* Q_Key of datagrams */
    struct rnic_srq *srq;     /* SRQ that the QP was created with (never an XRC SRQ), or NULL */
    struct rnic_xrcd *xrcd;   /* XRC domain of an XRC target, else NULL */
    uint32_t mcast_cnt;       /* number of multicast groups the QP is attached to */
    uint32_t steer_cnt;       /* raw packet QP: number of flows (steer.h) to the QP */
    uint64_t steered;         /* raw packet QP: serial number (rnic.steered) of the last frame that
                               * a flow rule delivered to this QP */
    struct rnic_list link;    /* link in rnic.qps */
    struct rnic_list windows; /* type 2 windows bound through the QP */
};

/*
 * Prefetch the cache lines of a QP: rnic_qp_prefetch_requester() those that a response or a send
 * request needs, rnic_qp_prefetch_responder() those that a request packet needs. With many QPs,
 * these lines are not in a cache. Fetching all of them at once takes little longer than fetching
 * one (tests/bench/bench_transport).
 */
static inline void rnic_qp_prefetch_lines(const void *from, const void *to)
{
    for (const char *p = from; p < (const char *)to; p += 64)
        __builtin_prefetch(p);
}

static inline void rnic_qp_prefetch_requester(const struct rnic_qp *qp)
{
    rnic_qp_prefetch_lines(qp, &qp->req + 1);
    __builtin_prefetch(&qp->resp.responses);
}

static inline void rnic_qp_prefetch_responder(const struct rnic_qp *qp)
{
    rnic_qp_prefetch_lines(qp, &qp->recv_cq);
    rnic_qp_prefetch_lines(&qp->req.sq.tail, &qp->resp.responses.entry[1]);
}

/* Returns true if the range of QPNs in *attr is valid. */
bool rnic_qpn_range_valid(const struct rnic_attr *attr);

/* Returns true if a packet with encapsulation `encap` and these addresses belongs to the QP's
 * connection (R051). */
bool rnic_qp_addr_fits(const struct rnic_qp *qp, enum roce_encap encap, const uint8_t src[16],
                       const uint8_t dst[16]);

extern const struct rnic_transport_ops rnic_qp_transport_ops;

/* Moves the QP to the error state and flushes its queues (R189). The caller must have stopped the
 * responder, unless the responder itself failed and still has its NAK to send. */
void rnic_qp_enter_err(struct rnic_qp *qp);

/* Updates the lists and timers of the device that depend on this QP. Called after each change of
 * the QP's requester or responder. */
void rnic_qp_settle(struct rnic_qp *qp);

/* Returns true if a P_Key is allowed in the P_Key table: its partition is not 0 (R049). */
bool rnic_pkey_valid(uint16_t pkey);

/* Returns true if a P_Key matches the P_Key of the QP (R049) or, for QP 1, any P_Key of the port
 * (R050). */
bool rnic_qp_pkey_fits(const struct rnic_qp *qp, uint16_t pkey);

/* Returns the index of the first P_Key of the port that matches `pkey`; pkey_cnt if none matches.
 */
unsigned rnic_pkey_index(const struct rnic *rnic, uint16_t pkey);

/* Returns true if the QP accepts this kind of packet in its present state (R054). */
bool rnic_qp_accepts(const struct rnic_qp *qp, const struct roce_opcode *op);

/* Passes a packet to the QP's requester or responder. The caller has checked the packet's
 * addresses, P_Key and service, and that the QP accepts the packet in its state. */
void rnic_qp_input(struct rnic_qp *qp, const struct roce_pkt *pkt, rnic_time now);

/* Builds the next packet of this QP with its Ethernet, IP and UDP headers. Returns false if the QP
 * has no packet to send. */
bool rnic_qp_output(struct rnic_qp *qp, struct roce_pkt *pkt, rnic_time now);

/* Handles the expiry of the QP's timer. */
void rnic_qp_expire(struct rnic_qp *qp, rnic_time now);

/* Starts a running ACK timer again at `now`. */
void rnic_qp_restart_timer(struct rnic_qp *qp, rnic_time now);

#endif
