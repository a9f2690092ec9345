/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* XRCD: an XRC domain: which SRQs the requests of an XRC target QP may name (Annex A14, R180). */
#ifndef RNIC_XRCD_H
#define RNIC_XRCD_H

#include "device/list.h"
#include "device/rnic.h"

struct rnic_xrcd {
    struct rnic *rnic;
    struct rnic_list link; /* rnic.xrcds */
    uint32_t users;        /* SRQs and target QPs */
};

#endif
