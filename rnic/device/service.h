/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Service: what the device must know of a transport service: one row each. */
#ifndef RNIC_SERVICE_H
#define RNIC_SERVICE_H

#include "device/rnic.h"
#include "wire/opcode.h"

struct rnic_service {
    enum roce_svc svc;  /* of its packets (R030) */
    bool connected;     /* one peer, whose address is checked (R051); else datagrams */
    bool sqe;           /* an error of the send queue leaves the receive queue alive (R192) */
    bool sends;         /* has a send queue */
    bool receives;      /* takes requests */
    bool receive_queue; /* its own, or a basic SRQ */
};

/* NULL for a type that this device has not. */
const struct rnic_service *rnic_service_of(enum rnic_qp_type type);

#endif
