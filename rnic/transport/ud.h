/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * UD: the datagram services, UD and GSI, on the queues of a requester and a responder. A message is
 * one packet; it completes when it is sent, and nothing ever answers it (R178). IBTA vol. 1 ch. 9;
 * R001.. are the rules of rnic/rules.md.
 *
 * What a datagram finds wrong at its receiver is a drop and a counter, and costs no receive WQE
 * (R174), but for one thing: a receive buffer that may not be written ends the QP, as the receive
 * queue of any service ends with the first completion in error (R189).
 */
#ifndef RNIC_UD_H
#define RNIC_UD_H

#include "transport/requester.h"
#include "transport/responder.h"

#define RNIC_UD_HEADER_AREA 40u /* bytes of a receive buffer before the payload (R172) */

/*
 * Posts a SEND or SEND with immediate to *dest, which is copied; as rnic_requester_post(). A
 * message longer than the path MTU is taken, and takes no PSN. The send queue has room for
 * destinations.
 */
enum rnic_sq_post rnic_ud_post(struct rnic_requester *req, const struct rnic_send_wr *wr,
                               const struct rnic_dest *dest);

/* Whether that is not INVALID. */
bool rnic_ud_accepts(const struct rnic_requester *req, const struct rnic_send_wr *wr);

/*
 * The next datagram: fills in *pkt from the BTH on, and pkt->env, and returns true, or false if
 * none can be sent. What it completes it has completed on return. The payload points into
 * registered memory, the queue, or `scratch` (path MTU bytes), the envelope into the queue: both
 * are to be copied before any other call.
 */
bool rnic_ud_output(struct rnic_requester *req, struct roce_pkt *pkt, uint8_t *scratch);

/* What became of a datagram; the checks in their order, then success. */
enum rnic_ud_fate {
    RNIC_UD_QKEY,   /* wrong Q_Key: dropped (R170) */
    RNIC_UD_LENGTH, /* longer than the path MTU, or than a MAD on QP 1 (R171): dropped */
    RNIC_UD_NO_WQE, /* dropped (R174) */
    RNIC_UD_BUFFER, /* longer than the receive buffer: dropped (R174) */
    RNIC_UD_MEMORY, /* the buffer may not be written: the WQE completed with LOC_PROT_ERR */
    RNIC_UD_DELIVERED,
};

/*
 * A datagram arrived whose form, ICRC, address, P_Key and QP state are right; its payload is whole.
 * `pkey_index` says which P_Key of the port it came with.
 */
enum rnic_ud_fate rnic_ud_input(struct rnic_responder *resp, const struct roce_pkt *pkt,
                                uint16_t pkey_index);

#endif
