/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fills the summary of a connection. Used only in rnic/flow.
 */
#ifndef FLOW_TABLE_SUMMARY_FILL_H
#define FLOW_TABLE_SUMMARY_FILL_H

#include "flow/base/state.h"

/* Fills `out` from the state of `conn`. The pointers in `out` are valid until the next call, or
 * until the connection changes. */
void roce_summary_fill(const struct roce_flow *flow, const struct roce_conn *conn,
                       struct roce_conn_summary *out);

#endif
