/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* AH: an address handle: where a datagram goes, with the envelope that takes it there. */
#ifndef RNIC_AH_H
#define RNIC_AH_H

#include "device/list.h"
#include "device/rnic.h"
#include "transport/sq.h"

struct rnic_ah {
    struct rnic_pd *pd;
    struct rnic_list link; /* rnic.ahs */
    struct rnic_av av;     /* resolved, but for a UDP source port of 0 */
    struct roce_header_template env;
    bool multicast;
};

/* Where a request of the QP `qpn` goes; false if it makes no sense (R048). */
bool rnic_ah_dest(const struct rnic_ah *ah, uint32_t qpn, const struct rnic_send_wr *wr,
                  struct rnic_dest *out);

#endif
