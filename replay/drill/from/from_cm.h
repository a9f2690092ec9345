/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drills of CM exchanges (engine/cm/cm_exchange.h).
 */
#ifndef REPLAY_DRILL_FROM_FROM_CM_H
#define REPLAY_DRILL_FROM_FROM_CM_H

#include "drill/from/from_drill.h"
#include "engine/cm/cm_exchange.h"

/* Adds the lines of a CM exchange in which the device is one of the ends: the messages of the other
 * end, and the calls of the device's program. Returns 0, or -1 and an error. */
int from_cm(struct from_drill *d, struct cm_exchanges *exchanges, uint32_t exchange,
            enum cm_role role);

#endif
