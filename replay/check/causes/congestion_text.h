/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Congestion of a connection as text: CNPs, and the sending rate around them.
 */
#ifndef REPLAY_CHECK_CAUSES_CONGESTION_TEXT_H
#define REPLAY_CHECK_CAUSES_CONGESTION_TEXT_H

#include "flow/base/summary.h"
#include "util/strbuf.h"

/* Appends text about the CNPs that a side sent: the times between them and their relation to the
 * ECN marks. The caller has already appended their number. */
void congestion_text_cnps(struct strbuf *t, const struct roce_endpoint_summary *side);

/* Appends how the sending rate of a side changed after it received CNPs. Appends nothing if the
 * side received no CNP. */
void congestion_text_rate(struct strbuf *t, const struct roce_endpoint_summary *side);

/* Appends two mean rates: before the first CNP, and in the slowest time window after the first
 * CNP. */
void congestion_text_drop(struct strbuf *t, const struct roce_cnp_summary *cnp);

#endif
