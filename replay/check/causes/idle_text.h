/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Idle text: says how much of the time a connection had no request in flight, although nothing
 * delayed its requests. Used by the reports of check for connections without a problem. */
#ifndef REPLAY_CHECK_CAUSES_IDLE_TEXT_H
#define REPLAY_CHECK_CAUSES_IDLE_TEXT_H

#include "flow/base/summary.h"
#include "util/strbuf.h"

/* Returns whether an RC connection had no request in flight for at least half of its duration. The
 * capture must contain the responses. */
bool idle_is_notable(const struct roce_conn_summary *sum);

/* Appends the idle time, and that the network is usually not its cause. */
void idle_text(struct strbuf *t, const struct roce_conn_summary *sum);

#endif
