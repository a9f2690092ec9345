/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fast path: processes the expected packets, which are most packets of a capture, with a third of
 * the instructions of the full path. Used only in rnic/flow.
 */
#ifndef FLOW_FAST_PATH_H
#define FLOW_FAST_PATH_H

#include "flow/base/state.h"

/* Processes the current packet, with the same result as roce_request() or roce_response() and the
 * checks, and returns true. If the packet is not an expected one, changes nothing and returns
 * false: the caller must use the full path. */
bool roce_fast_path(struct roce_ctx *ctx);

#endif
