/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Protection domain: separates the regions of one user from the QPs of another (R206). */
#ifndef RNIC_PD_H
#define RNIC_PD_H

#include "device/list.h"
#include "device/rnic.h"

struct rnic_pd {
    struct rnic *rnic;
    struct rnic_list link; /* link in rnic.pds */
    uint32_t users; /* number of MRs, windows, QPs and other objects in the protection domain */
};

#endif
