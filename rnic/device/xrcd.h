/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* XRC domain: the SRQs that requests to an XRC target QP may name (Annex A14, R180). */
#ifndef RNIC_XRCD_H
#define RNIC_XRCD_H

#include "device/list.h"
#include "device/rnic.h"

struct rnic_xrcd {
    struct rnic *rnic;
    struct rnic_list link; /* link in rnic.xrcds */
    uint32_t users;        /* number of SRQs and target QPs in the domain */
};

#endif
