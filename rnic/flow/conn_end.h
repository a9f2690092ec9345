/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The end of a connection. Private to flow/.
 */
#ifndef FLOW_CONN_END_H
#define FLOW_CONN_END_H

#include "flow/base/state.h"

/*
 * Ends a connection:
 *   1. reports or drops the findings that were deferred for a possible reuse of its QPs;
 *   2. reports what stopped it and what was outstanding (checks/check_end.c);
 *   3. hands its summary to on_conn();
 *   4. frees it.
 */
void roce_conn_end(struct roce_flow *flow, struct roce_conn *conn);

#endif
