/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Request: builds the request packets of a requester. requester.c decides when a packet is sent,
 * and which one. Only requester.c and request.c use this header. */
#ifndef RNIC_REQUEST_H
#define RNIC_REQUEST_H

#include "transport/requester.h"

/* Returns whether the service supports an operation. Returns true also for local operations, which
 * have no packets, and for unknown opcodes, which rnic_sq_post() rejects. */
bool rnic_request_in_service(enum roce_svc svc, enum rnic_wr_opcode opcode);

/* Builds the packet at position req->nxt, which belongs to `wqe`. Fills in *pkt from the BTH on,
 * advances req->nxt and returns true. Returns false if the L_Key does not permit reading the
 * payload; wqe->status is then the error (R198). */
bool rnic_request_put(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe,
                      uint8_t *scratch);

#endif
