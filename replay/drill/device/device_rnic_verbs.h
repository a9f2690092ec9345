/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Device RNIC verbs: functions that execute each verb of a drill (a test script) by calls of the
 * software RNIC. device_rnic.c calls them. */
#ifndef REPLAY_DRILL_DEVICE_DEVICE_RNIC_VERBS_H
#define REPLAY_DRILL_DEVICE_DEVICE_RNIC_VERBS_H

#include "drill/device/device_rnic_objects.h"

/* Runs a verb at the time `now`, ns. Returns 0 or an enum rnic_error. */
int device_rnic_verb(struct drill_device *dev, const struct script_event *event, uint64_t now);

#endif
