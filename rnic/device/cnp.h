/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CNP: congestion of one QP (Annex A17.9): the notification point, which answers packets marked
 * "congestion experienced" with CNPs, and the reaction point, which slows its QP down
 * (transport/dcqcn.h, pace.h). R214-R220 of rnic/rules.md.
 *
 * Choices where the specification leaves one: requests and READ responses that are marked cause a
 * CNP, acknowledgements and CNPs do not (R220); no more than one a QP in min_time_between_cnps
 * (R219), further marks in that time cause none; CNPs go before everything else.
 */
#ifndef RNIC_CNP_H
#define RNIC_CNP_H

#include "base/heap.h"
#include "device/list.h"
#include "device/rnic.h"
#include "transport/dcqcn.h"
#include "wire/header_template.h"
#include "wire/pkt.h"

/* What a QP has while its device has congestion management; else it has none. */
struct rnic_cc {
    struct rnic_qp *qp;
    struct rnic_list owed;       /* rnic.cnps, while a CNP is owed */
    rnic_time sent;              /* when the last CNP was sent */
    struct rnic_heap_node paced; /* rnic.pacer, while the QP may not send yet */
    uint16_t pkey;               /* of the packet that the CNP owed answers (R214) */
    bool any;                    /* a CNP was sent */
    struct rnic_dcqcn dcqcn;
};

/* Whether the device has congestion management, and that its parameters are in their ranges. */
bool rnic_ecn_on(const struct rnic_ecn *ecn);
bool rnic_ecn_valid(const struct rnic_ecn *ecn);

/* For a new QP: false without memory. Nothing is held back. */
bool rnic_cc_new(struct rnic_qp *qp);
void rnic_cc_free(struct rnic_qp *qp);

/* A new connection: as after rnic_cc_new(). */
void rnic_cc_reset(struct rnic_qp *qp);

/* Whether this packet is marked (RoCEv2 only). */
static inline bool rnic_cnp_is_marked(const struct roce_pkt *pkt)
{
    return (pkt->encap == ROCE_ENCAP_V2_IP4 && pkt->ip4.ecn == 3) ||
           (pkt->encap == ROCE_ENCAP_V2_IP6 && pkt->ip6.ecn == 3);
}

/* A marked packet that the QP takes (R217). */
void rnic_cnp_marked(struct rnic_qp *qp, const struct roce_pkt *pkt, rnic_time now);

/* A CNP arrived whose form is right. What the QP does otherwise is not disturbed (R216). */
void rnic_cnp_input(struct rnic *rnic, const struct roce_pkt *pkt, rnic_time now);

/* The next CNP that is owed, with its envelope, or false. */
bool rnic_cnp_output(struct rnic *rnic, struct roce_pkt *pkt, rnic_time now);

#endif
