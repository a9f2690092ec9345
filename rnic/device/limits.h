/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Limits of a device. The public part is in rnic.h. */
#ifndef RNIC_LIMITS_H
#define RNIC_LIMITS_H

#include "device/rnic.h"

/* Returns the device's limits. A lower value in *attr that is not 0 replaces the device's limit. */
struct rnic_limits rnic_limits_of(const struct rnic_attr *attr);

/* Returns true if the number of P_Keys in *attr is within its own limit and the size of the table.
 */
bool rnic_pkey_cnt_valid(const struct rnic_attr *attr);

#endif
