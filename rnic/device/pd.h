/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* PD: a protection domain, which keeps the regions of one user from the QPs of another (R206). */
#ifndef RNIC_PD_H
#define RNIC_PD_H

#include "device/list.h"
#include "device/rnic.h"

struct rnic_pd {
    struct rnic *rnic;
    struct rnic_list link; /* rnic.pds */
    uint32_t users;        /* MRs, windows, QPs and whatever else is in it */
};

#endif
