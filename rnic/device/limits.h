/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Limits of a device. The public part is in rnic.h. */
#ifndef RNIC_LIMITS_H
#define RNIC_LIMITS_H

#include "device/rnic.h"

/* Returns the device's limits. A lower value in *attr that is not 0 replaces the device's limit. */
struct rnic_limits rnic_limits_of(const struct rnic_attr *attr);

/* Returns true if *attr has at most max_pkeys P_Keys (0: no limit) and they fit into the P_Key
 * table. */
bool rnic_pkey_cnt_valid(const struct rnic_attr *attr);

#endif
