/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Diff rule: returns the rule of rnic/rules.md that a difference is about, for readers of a
 * report. The differing field and the two values select the rule. If several rules fit, it is the
 * one that says what must be sent.
 */
#ifndef REPLAY_ENGINE_DIFF_RULE_H
#define REPLAY_ENGINE_DIFF_RULE_H

#include "engine/cm_exchange.h"
#include "engine/dgram_stream.h"

/* Returns the id of the rule ("RC-RSP-083") of a difference in a connection, a datagram stream
 * or a CM exchange, or NULL if there is none. */
const char *diff_rule(const struct trace *trace, const struct diff *diff);
const char *diff_rule_stream(const struct dgram_streams *streams, const struct diff *diff);
const char *diff_rule_exchange(const struct cm_exchanges *xs, const struct diff *diff);

#endif
