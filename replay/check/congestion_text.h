/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Congestion of a connection as text: CNPs, and the sending rate around them.
 */
#ifndef REPLAY_CHECK_CONGESTION_TEXT_H
#define REPLAY_CHECK_CONGESTION_TEXT_H

#include "flow/base/summary.h"
#include "util/strbuf.h"

/* Appends, after the number of CNPs that a side sent, the times between these CNPs and their
 * relation to the ECN marks. */
void congestion_text_cnps(struct strbuf *t, const struct roce_endpoint_summary *side);

/* Appends the effect of the CNPs that a side received on its sending rate. Appends nothing if the
 * side received no CNP. */
void congestion_text_rate(struct strbuf *t, const struct roce_endpoint_summary *side);

#endif
