/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM tracking: follows each CM exchange from REQ to DREP, and creates the connection that it sets
 * up. Used only in rnic/flow.
 */
#ifndef FLOW_CM_TRACK_H
#define FLOW_CM_TRACK_H

#include "flow/base/state.h"

/* Processes the CM message in the current packet to QP1. */
void roce_cm_track(struct roce_ctx *ctx);

/* Reports the DREQs that were not answered. Called once, at the end of the capture. */
void roce_cm_end(struct roce_flow *flow);

#endif
