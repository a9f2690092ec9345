/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * UD: the datagram services UD and GSI. They use the send queue of a requester and the receive
 * queue of a responder. A message is one packet. It completes when it is sent and has no response
 * (R178). IBTA vol. 1 ch. 9; R001.. are the rules of rnic/rules.md.
 *
 * A receiver drops a bad datagram and counts it, without using a receive WQE (R174). Only one error
 * moves the QP to the error state: the L_Key of a receive WQE does not permit the write. The WQE
 * then completes in error, and the first receive that completes in error stops the receive queue of
 * any service (R189).
 */
#ifndef RNIC_UD_H
#define RNIC_UD_H

#include "transport/requester.h"
#include "transport/responder.h"

/* bytes at the start of a receive buffer that are reserved for the network header (R172) */
#define RNIC_UD_HEADER_AREA 40u

/* Posts a SEND or SEND with immediate to *dest, in the same way as rnic_requester_post(); *dest is
 * copied. A message longer than the path MTU is accepted, but uses no PSN. The caller has called
 * rnic_sq_add_dests(). */
enum rnic_sq_post rnic_ud_post(struct rnic_requester *req, const struct rnic_send_wr *wr,
                               const struct rnic_dest *dest);

/* Returns true if rnic_ud_post() would not return INVALID for *wr. The queue may be full. */
bool rnic_ud_accepts(const struct rnic_requester *req, const struct rnic_send_wr *wr);

/* Builds the next datagram in *pkt (header template, transport headers, payload), and returns true.
 * Returns false if no datagram can be sent. The WQE is complete on return. So the caller copies the
 * payload and the template before any other call: the payload is in registered memory, in the queue
 * or in `scratch` (path MTU bytes), the template in the queue. */
bool rnic_ud_output(struct rnic_requester *req, struct roce_pkt *pkt, uint8_t *scratch);

/* Result of rnic_ud_input(): success, or the first check that failed. The values have the order of
 * the checks. */
enum rnic_ud_fate {
    RNIC_UD_QKEY,   /* wrong Q_Key: dropped (R170) */
    RNIC_UD_LENGTH, /* longer than the path MTU, or than a MAD on QP 1 (R171): dropped */
    RNIC_UD_NO_WQE, /* no receive WQE: dropped (R174) */
    RNIC_UD_BUFFER, /* longer than the receive buffer: dropped (R174) */
    RNIC_UD_MEMORY, /* the L_Key does not permit the write: the WQE completed with LOC_PROT_ERR, and
                     * the QP failed */
    RNIC_UD_DELIVERED,
};

/* Processes a received datagram. The caller has checked its format, ICRC, address, P_Key and the QP
 * state; the payload is complete. `pkey_index` is the index of the datagram's P_Key in the port's
 * table. */
enum rnic_ud_fate rnic_ud_input(struct rnic_responder *resp, const struct roce_pkt *pkt,
                                uint16_t pkey_index);

#endif
