/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fast path: handles the expected packets, most of a capture, in a third of the instructions.
 * Private to flow/.
 */
#ifndef FLOW_FAST_PATH_H
#define FLOW_FAST_PATH_H

#include "flow/base/state.h"

/* Returns true if the packet at hand is an expected one and was handled as by roce_request(),
 * roce_response() and the checks. Returns false if nothing was done. */
bool roce_fast_path(struct roce_ctx *ctx);

#endif
