/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QP: a queue pair: its state (R183), its address vector, and the transport inside it, requester
 * and responder. Creation is in qp.c, states and attributes in qp_modify.c, work requests, packets
 * and the device side of transport/transport_ops.h in qp_io.c.
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
 * In the order of use, because of 100,000 QPs none is in a cache: what every packet and request
 * touches stands in front, in as few lines of 64 bytes as it fits in (a QP begins at one), and what
 * only READs, atomics and modify touch at the end.
 */
struct rnic_qp {
    /* Line 0. */
    struct rnic_pd *pd;
    const struct rnic_service *service;
    struct rnic_list ready; /* rnic.ready, while it may have something to send */
    struct rnic_cc *cc;     /* NULL: the device has no congestion management */
    uint32_t qpn;
    enum rnic_qp_type type;
    enum rnic_qp_state state;
    enum roce_encap encap; /* of both directions; from RTR on, as are av, sgid and env */
    uint16_t pkey;         /* from INIT on, as are access and qkey */
    bool comm_est;         /* a valid packet arrived since RTR (R055) */
    bool drained;          /* told of the drained send queue, or not to be (R191) */
    bool turn;             /* whose packet is next if both halves have one: true: a request */
    bool passed;           /* a request was sent before the ACK that is due */
    bool ack_delayed;      /* its ACK waits: `ready` is in rnic.delayed_ack */
    bool credits;          /* its ACKs tell of receive WQEs (R106) */
    bool cq_lost;          /* a completion was lost: the QP is to go to ERR (R200) */

    /* Line 1. */
    struct rnic_av av;       /* with hop_limit and udp_sport resolved */
    uint8_t sgid[16];        /* the device's end, as it was then */
    struct rnic_cq *send_cq; /* NULL: there is no send queue */

    /* Lines 2 and 3. */
    struct roce_header_template env; /* of everything it sends */
    struct rnic_cq *recv_cq;         /* NULL: there is no receive queue */
    struct rnic_timer timer;

    struct rnic_requester req;
    struct rnic_responder resp;

    unsigned access;
    uint32_t qkey;            /* datagrams */
    struct rnic_srq *srq;     /* the basic SRQ it was created with, or NULL */
    struct rnic_xrcd *xrcd;   /* XRC target, else NULL */
    uint32_t mcast_cnt;       /* multicast groups it is in */
    uint32_t events;          /* types pending, see event.h */
    struct rnic_list link;    /* rnic.qps */
    struct rnic_list windows; /* type 2, bound through it */
};

/*
 * Asks for the lines of a QP that its requester will use, for a request or a response to one, or
 * its responder, for a packet of the peer's. With many QPs they are in no cache, and fetched
 * together they cost little more than one (tests/bench/bench_transport).
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

/* Whether the QPNs that the device is to choose from are some. */
bool rnic_qpn_range_valid(const struct rnic_attr *attr);

/* Whether a packet that came in this envelope between these addresses is of this QP's connection
 * (R051). */
bool rnic_qp_addr_fits(const struct rnic_qp *qp, enum roce_encap encap, const uint8_t src[16],
                       const uint8_t dst[16]);

extern const struct rnic_transport_ops rnic_qp_transport_ops;

/* Into the error state (R189); the caller has dealt with what the responder owes. */
void rnic_qp_enter_err(struct rnic_qp *qp);

/* After anything happened to the transport: what the device must know of it. */
void rnic_qp_settle(struct rnic_qp *qp);

/* Whether a P_Key may be in a table: its partition is not 0 (R049). */
bool rnic_pkey_valid(uint16_t pkey);

/* Whether a P_Key matches the QP's (R049), or of QP 1 any of the port's (R050). */
bool rnic_qp_pkey_fits(const struct rnic_qp *qp, uint16_t pkey);

/* Returns the index of the first P_Key of the port that matches `pkey`, or pkey_cnt. */
unsigned rnic_pkey_index(const struct rnic *rnic, uint16_t pkey);

/* Whether the state lets in a packet of this kind (R054). */
bool rnic_qp_accepts(const struct rnic_qp *qp, const struct roce_opcode *op);

/* A packet of this connection, of a kind that the state lets in: into the transport. */
void rnic_qp_input(struct rnic_qp *qp, const struct roce_pkt *pkt, rnic_time now);

/* The next packet of this QP with its envelope, or false. */
bool rnic_qp_output(struct rnic_qp *qp, struct roce_pkt *pkt, rnic_time now);

/* Its timer fired. */
void rnic_qp_expire(struct rnic_qp *qp, rnic_time now);

#endif
