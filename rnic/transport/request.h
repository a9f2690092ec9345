/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Request: builds the request packets of a requester. requester.c decides when a packet is sent and
 * which one. Private to requester.c and request.c. */
#ifndef RNIC_REQUEST_H
#define RNIC_REQUEST_H

#include "transport/requester.h"

/* Returns whether the service supports an operation. Returns true also for local operations, which
 * have no packets, and for unknown opcodes, which rnic_sq_post() rejects. */
bool rnic_request_in_service(enum roce_svc svc, enum rnic_wr_opcode opcode);

/* Builds the packet at position req->nxt, which belongs to `wqe`. Fills in *pkt from the BTH on and
 * advances nxt. Returns true, or false with the WQE's status set if the L_Key does not permit
 * reading the payload (R198). */
bool rnic_request_put(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe,
                      uint8_t *scratch);

#endif
