/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Properties of the transport services that the device needs: one row for each QP type. */
#ifndef RNIC_SERVICE_H
#define RNIC_SERVICE_H

#include "device/rnic.h"
#include "wire/opcode.h"

struct rnic_service {
    enum roce_svc svc; /* transport service of the QP type's packets (R030) */
    bool connected; /* the QP has one peer, whose address is checked (R051); false for datagrams */
    bool sqe;       /* an error of the send queue does not stop the receive queue (R192) */
    bool sends;     /* the QP has a send queue */
    bool receives;  /* the QP accepts requests */
    bool receive_queue; /* the QP has a receive queue, or an SRQ that is not an XRC SRQ */
};

/* Returns the properties of a QP type, or NULL if the device does not support the type. */
const struct rnic_service *rnic_service_of(enum rnic_qp_type type);

#endif
