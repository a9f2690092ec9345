/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Lockstep text: describes a requester that has one message in flight at a time, so that its rate
 * depends on the round trip. Used by the reports of check.
 */
#ifndef REPLAY_CHECK_CAUSES_LOCKSTEP_TEXT_H
#define REPLAY_CHECK_CAUSES_LOCKSTEP_TEXT_H

#include "flow/base/summary.h"
#include "util/strbuf.h"

/* Returns how long side `side` waited for the responses to its messages, ns. Returns 0 if it had
 * several messages in flight, or if it waited for less than half of the connection's time. */
uint64_t lockstep_ns(const struct roce_conn_summary *sum, unsigned side);

/* Appends a clause about a side for which lockstep_ns() is not 0. */
void lockstep_text(struct strbuf *t, const struct roce_conn_summary *sum, unsigned side);

#endif
