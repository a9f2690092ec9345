/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Limits: what one device holds at most; public part in rnic.h. */
#ifndef RNIC_LIMITS_H
#define RNIC_LIMITS_H

#include "device/rnic.h"

/* The device's own limits, lowered where those of *attr are lower and not 0. */
struct rnic_limits rnic_limits_of(const struct rnic_attr *attr);

/* Whether the P_Keys of *attr are no more than its limits and the table allow. */
bool rnic_pkey_cnt_valid(const struct rnic_attr *attr);

#endif
