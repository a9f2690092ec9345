/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Diff rule: finds the rule of rnic/rules.md that a difference violates, for the report. The
 * differing field and its two values select the rule. If several rules fit, the order of the tables
 * in diff_rule.c decides.
 */
#ifndef REPLAY_ENGINE_DIFF_RULE_H
#define REPLAY_ENGINE_DIFF_RULE_H

#include "engine/cm/cm_exchange.h"
#include "engine/dgram/dgram_stream.h"

/* Returns the id of the rule ("RC-RSP-083") that a difference in a connection, a datagram stream or
 * a CM exchange violates. Returns NULL if no rule fits. */
const char *diff_rule(const struct trace *trace, const struct diff *diff);
const char *diff_rule_stream(const struct dgram_streams *streams, const struct diff *diff);
const char *diff_rule_exchange(const struct cm_exchanges *xs, const struct diff *diff);

#endif
