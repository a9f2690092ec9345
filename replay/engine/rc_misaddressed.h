/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Stray: a packet that fits no connection, but is just what our RNIC answered at that moment except
 * for its destination QP or its opcode: an answer that went astray.
 */
#ifndef REPLAY_ENGINE_RC_MISADDRESSED_H
#define REPLAY_ENGINE_RC_MISADDRESSED_H

#include "engine/rc_compare_responses.h"

/* Looks for the answer that packet `idx` of the trace was meant to be and lists the difference.
 * 0, or -1 without memory. */
int match_misaddressed(struct response_comparison *all, struct session *session, uint32_t idx);

#endif
