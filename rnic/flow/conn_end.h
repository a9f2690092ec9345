/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* End of a connection: final reports and release of memory. Used only in rnic/flow. */
#ifndef FLOW_CONN_END_H
#define FLOW_CONN_END_H

#include "flow/base/state.h"

/*
 * Ends a connection:
 *   1. reports the findings that were deferred because its QPs were possibly reused;
 *   2. reports why the connection ended, and its outstanding requests (checks/check_end.c);
 *   3. passes the connection's summary to on_conn();
 *   4. frees the connection.
 */
void roce_conn_end(struct roce_flow *flow, struct roce_conn *conn);

#endif
