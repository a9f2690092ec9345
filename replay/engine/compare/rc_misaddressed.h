/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Misaddressed: finds packets that belong to no connection, but equal a response of our RNIC except
 * for the destination QP or the opcode.
 */
#ifndef REPLAY_ENGINE_COMPARE_RC_MISADDRESSED_H
#define REPLAY_ENGINE_COMPARE_RC_MISADDRESSED_H

#include "engine/compare/rc_compare_responses.h"

/* Finds the response of our RNIC that packet `idx` of the trace resembles, and reports the field in
 * which they differ. Returns 0, or -1 if out of memory. */
int match_misaddressed(struct response_comparison *all, struct session *session, uint32_t idx);

#endif
