/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QP: a queue pair: its state (R183), its address vector, and the transport inside it. The device
 * side of transport/host.h is here.
 */
#ifndef RNIC_QP_H
#define RNIC_QP_H

#include "device/cq.h"
#include "device/list.h"
#include "device/pd.h"
#include "transport/responder.h"

struct rnic_qp {
    struct rnic_pd *pd;
    struct rnic_cq *recv_cq;
    struct rnic_list link;  /* rnic.qps */
    struct rnic_list ready; /* rnic.ready, while it may have something to send */
    uint32_t qpn;
    uint32_t events; /* types pending, see event.h */
    enum rnic_qp_type type;
    enum rnic_qp_state state;
    bool comm_est; /* a valid packet arrived since RTR (R055) */
    bool cq_lost;  /* a completion was lost: the QP is to go to ERR (R200) */

    /* INIT */
    unsigned access;
    uint16_t pkey;
    /* RTR */
    struct rnic_av av;     /* with hop_limit and udp_sport resolved */
    enum roce_encap encap; /* of both directions */

    struct rnic_responder resp;
};

/* Whether a packet that came in this envelope between these addresses is of this QP's connection
 * (R051). */
bool rnic_qp_addr_fits(const struct rnic_qp *qp, enum roce_encap encap, const uint8_t src[16],
                       const uint8_t dst[16]);

/* Whether a P_Key matches the QP's (R049). */
bool rnic_qp_pkey_fits(const struct rnic_qp *qp, uint16_t pkey);

/* A request packet of this connection: into the transport. The state lets requests in. */
void rnic_qp_input(struct rnic_qp *qp, const struct roce_pkt *pkt);

/* The next packet of this QP with its envelope, or false. */
bool rnic_qp_output(struct rnic_qp *qp, struct roce_pkt *pkt);

#endif
