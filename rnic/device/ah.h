/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Address handle: destination and envelope of datagrams. */
#ifndef RNIC_AH_H
#define RNIC_AH_H

#include "device/list.h"
#include "device/rnic.h"
#include "transport/sq.h"

struct rnic_ah {
    struct rnic_pd *pd;
    struct rnic_list link; /* link in the device's list rnic.ahs */
    struct rnic_av av;     /* address vector with defaults resolved; UDP source port 0 is chosen per
                            * destination QP */
    struct roce_header_template env;
    bool multicast;
};

/* Fills *out with the destination of a datagram for QP `qpn`. Returns false if QPN and address do
 * not match (R048). */
bool rnic_ah_dest(const struct rnic_ah *ah, uint32_t qpn, const struct rnic_send_wr *wr,
                  struct rnic_dest *out);

#endif
