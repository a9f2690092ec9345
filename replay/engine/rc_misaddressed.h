/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Misaddressed: a packet that belongs to no connection but equals a response of our RNIC at that
 * moment, except for its destination QP or its opcode.
 */
#ifndef REPLAY_ENGINE_RC_MISADDRESSED_H
#define REPLAY_ENGINE_RC_MISADDRESSED_H

#include "engine/rc_compare_responses.h"

/* Finds the response that packet `idx` of the trace should have been, and adds the difference.
 * Returns 0, or -1 without memory. */
int match_misaddressed(struct response_comparison *all, struct session *session, uint32_t idx);

#endif
