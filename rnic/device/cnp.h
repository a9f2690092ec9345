/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Congestion notification of a QP (Annex A17.9; R214-R220 of rnic/rules.md). The notification point
 * sends a CNP when a packet marked CE arrives. The reaction point slows down a QP that receives
 * CNPs (transport/dcqcn.h, pace.h).
 *
 * Where the specification allows several behaviours, this device does the following. Marked
 * requests and READ responses cause a CNP, marked acknowledgements and CNPs do not (R220). A QP
 * sends at most one CNP per min_time_between_cnps (R219); packets marked within that time cause no
 * CNP. CNPs are sent before all other packets.
 */
#ifndef RNIC_CNP_H
#define RNIC_CNP_H

#include "base/heap.h"
#include "device/list.h"
#include "device/rnic.h"
#include "transport/dcqcn.h"
#include "wire/header_template.h"
#include "wire/pkt.h"

/* Congestion state of a QP. Not allocated if the device has no congestion management. */
struct rnic_cc {
    struct rnic_qp *qp;
    struct rnic_list owed;       /* link in rnic.cnps while the QP has to send a CNP */
    rnic_time sent;              /* time of the last CNP sent, ns; undefined until the first one */
    struct rnic_heap_node paced; /* node in rnic.pacer while the QP must not send */
    uint16_t pkey;               /* P_Key of the packet that the CNP answers (R214) */
    bool any;                    /* true after the QP sent its first CNP */
    struct rnic_dcqcn dcqcn;
};

/* Returns true if the device is a notification point or a reaction point. */
bool rnic_ecn_on(const struct rnic_ecn *ecn);
/* Returns true if the parameters of the enabled notification point and reaction point are in
 * range. */
bool rnic_ecn_valid(const struct rnic_ecn *ecn);

/* Allocates the congestion state of a new QP, without a rate limit. Allocates nothing if the device
 * has no congestion management. Returns false if out of memory. */
bool rnic_cc_new(struct rnic_qp *qp);
void rnic_cc_free(struct rnic_qp *qp);

/* Resets the state for a new connection, as after rnic_cc_new(). */
void rnic_cc_reset(struct rnic_qp *qp);

/* Returns true if the packet is marked CE (RoCEv2 only). */
static inline bool rnic_cnp_is_marked(const struct roce_pkt *pkt)
{
    return (pkt->encap == ROCE_ENCAP_V2_IP4 && pkt->ip4.ecn == 3) ||
           (pkt->encap == ROCE_ENCAP_V2_IP6 && pkt->ip6.ecn == 3);
}

/* Processes a CE-marked packet that the QP accepts (R217). */
void rnic_cnp_marked(struct rnic_qp *qp, const struct roce_pkt *pkt, rnic_time now);

/* Processes a well-formed CNP. The QP's other traffic continues (R216). */
void rnic_cnp_input(struct rnic *rnic, const struct roce_pkt *pkt, rnic_time now);

/* Builds the next pending CNP with its Ethernet, IP and UDP headers. Returns false if no CNP is
 * pending. */
bool rnic_cnp_output(struct rnic *rnic, struct roce_pkt *pkt, rnic_time now);

#endif
