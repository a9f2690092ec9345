/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Device RNIC: the device under test (DUT) of a drill is the software RNIC of rnic/device in this
 * process, in virtual time. */
#ifndef REPLAY_DRILL_DEVICE_DEVICE_RNIC_H
#define REPLAY_DRILL_DEVICE_DEVICE_RNIC_H

#include "drill/device.h"

extern const struct drill_device_ops device_rnic_ops;

#endif
