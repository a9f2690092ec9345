/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Device RNIC: the device under test (DUT) of a drill is in this process, in virtual time. It is
 * the software RNIC of rnic/device, or a shared library with the same C interface (rnic_api.h). */
#ifndef REPLAY_DRILL_DEVICE_DEVICE_RNIC_H
#define REPLAY_DRILL_DEVICE_DEVICE_RNIC_H

#include "drill/device.h"

/* Devices that run in this process: our software RNIC, or a device that a shared library
 * implements. The `config` argument of open() is the struct rnic_api of that library, or NULL for
 * our software RNIC. */
extern const struct drill_device_ops device_rnic_ops;

#endif
