/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Verdict of a replay and of its parts: FAIL if a part fails, else PASS if a part passes, else
 * SKIPPED.
 */
#ifndef REPLAY_REPORT_VERDICT_H
#define REPLAY_REPORT_VERDICT_H

#include "engine/replay.h"

/* Adds the verdict of a part to the verdict of the whole. */
void verdict_add(enum verdict *verdict, enum verdict part);

/* Returns the verdict of the capture. Management datagrams and CM exchanges count only if they
 * fail or if the capture has no other traffic. */
enum verdict report_verdict(const struct replay *replay);

/* Returns whether a stream does not count for the verdict: management datagrams that pass, if
 * the capture has other traffic. */
bool verdict_ignores_stream(const struct replay *replay, const struct dgram_stream *stream);

/* Returns the verdict of one direction, with our RNIC as responder and as requester. */
enum verdict report_run_verdict(const struct replay *replay, uint32_t dir);

/* Returns the verdict of both ends of a CM exchange. */
enum verdict report_exchange_verdict(const struct cm_exchange *x);

/* Returns the reason of the first part that was skipped, or NULL if no part was skipped. */
const char *report_skip_reason(const struct replay *replay);

#endif
