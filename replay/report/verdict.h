/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Verdict of a replay and of its parts: FAIL if at least one part fails. Otherwise PASS if at least
 * one part passes. Otherwise SKIPPED.
 */
#ifndef REPLAY_REPORT_VERDICT_H
#define REPLAY_REPORT_VERDICT_H

#include "engine/replay.h"

/* Combines the verdict of a part with *verdict, the verdict of the whole so far. */
void verdict_add(enum verdict *verdict, enum verdict part);

/* Returns the verdict of the capture. Management datagrams and CM exchanges count only if they
 * fail or if the capture has no other traffic. */
enum verdict report_verdict(const struct replay *replay);

/* Returns whether the verdict ignores a stream: a stream of management datagrams that does not
 * fail, in a capture with other traffic. */
bool verdict_ignores_stream(const struct replay *replay, const struct dgram_stream *stream);

/* Returns the verdict on one direction. Combines the verdicts with our RNIC as responder and as
 * requester. */
enum verdict report_run_verdict(const struct replay *replay, uint32_t dir);

/* Returns the verdict on a CM exchange. Combines the verdicts on its two ends. */
enum verdict report_exchange_verdict(const struct cm_exchange *x);

/* Returns the skip reason of the first part that was skipped, or NULL if no part was skipped. */
const char *report_skip_reason(const struct replay *replay);

#endif
