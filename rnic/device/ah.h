/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Address handle: destination of datagrams, and their Ethernet, IP and UDP headers (the envelope).
 */
#ifndef RNIC_AH_H
#define RNIC_AH_H

#include "device/list.h"
#include "device/rnic.h"
#include "transport/sq.h"

struct rnic_ah {
    struct rnic_pd *pd;
    struct rnic_list link; /* link in the device's list rnic.ahs */
    struct rnic_av av;     /* address vector, with hop limit, ECN and multicast MAC address
                            * resolved; if udp_sport is 0, rnic_av_sport() computes the port of
                            * each datagram */
    struct roce_header_template env;
    bool multicast;
};

/* Fills *out with the destination of the datagram *wr that QP `qpn` sends, and returns true.
 * Returns false if the destination QPN is the multicast QPN but the GID of the address handle is
 * unicast (R048). */
bool rnic_ah_dest(const struct rnic_ah *ah, uint32_t qpn, const struct rnic_send_wr *wr,
                  struct rnic_dest *out);

#endif
