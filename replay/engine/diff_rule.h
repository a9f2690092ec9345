/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Diff rule: which rule of rnic/rules.md an RC difference is about, for people who want to read on.
 * What the recorded end and ours disagree in says which; where several rules would fit, the one
 * that says what has to be sent.
 */
#ifndef REPLAY_ENGINE_DIFF_RULE_H
#define REPLAY_ENGINE_DIFF_RULE_H

#include "engine/cm_exchange.h"
#include "engine/dgram_stream.h"

/* "RC-RSP-083", or NULL for a difference that none is about: of a connection, a stream, an
 * exchange. */
const char *diff_rule(const struct trace *trace, const struct diff *diff);
const char *diff_rule_stream(const struct dgram_streams *streams, const struct diff *diff);
const char *diff_rule_exchange(const struct cm_exchanges *xs, const struct diff *diff);

#endif
