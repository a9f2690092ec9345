/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Congestion of a connection in words: CNPs, and the rate around them.
 */
#ifndef REPLAY_CHECK_CONGESTION_TEXT_H
#define REPLAY_CHECK_CONGESTION_TEXT_H

#include "flow/base/summary.h"
#include "util/strbuf.h"

/* After the number of CNPs that a side sent: how they follow one another and the marks. */
void congestion_text_cnps(struct strbuf *t, const struct roce_endpoint_summary *side);

/* What the CNPs that a side received did to its rate; nothing where it received none. */
void congestion_text_rate(struct strbuf *t, const struct roce_endpoint_summary *side);

#endif
