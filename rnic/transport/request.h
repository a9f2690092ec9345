/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Request: the packets of the requester, as response_tx.h has those of the responder. The requester
 * says when one is sent and which; this says what is in it. This header is for the requester's own
 * files.
 */
#ifndef RNIC_REQUEST_H
#define RNIC_REQUEST_H

#include "transport/requester.h"

/* Whether the service has the packets of an operation; a local one has none and is in each. True
 * also for what is no operation. */
bool rnic_request_in_service(enum roce_svc svc, enum rnic_wr_opcode opcode);

/*
 * The packet at req->nxt, which lies in `wqe`: fills in *pkt from the BTH on, as
 * rnic_requester_output(), and moves nxt behind it. False, with the WQE's status set, if the memory
 * that it would carry may not be read (R198).
 */
bool rnic_request_put(struct rnic_requester *req, struct roce_pkt *pkt, struct rnic_swqe *wqe,
                      uint8_t *scratch);

#endif
