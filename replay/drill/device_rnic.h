/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Device RNIC: the software RNIC of rnic/device in this process, in virtual time, as the device
 * under test of a drill. */
#ifndef REPLAY_DRILL_DEVICE_RNIC_H
#define REPLAY_DRILL_DEVICE_RNIC_H

#include "drill/device.h"

extern const struct drill_device_ops device_rnic_ops;

#endif
