/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Misaddressed: finds responses that belong to no connection, because their destination QP or
 * their opcode is wrong.
 */
#ifndef REPLAY_ENGINE_COMPARE_RC_MISADDRESSED_H
#define REPLAY_ENGINE_COMPARE_RC_MISADDRESSED_H

#include "engine/compare/rc_compare_responses.h"

/* Finds the direction to which packet `idx` of the trace belongs, and reports its altered field as
 * a difference. Reports nothing if no direction fits. Returns 0, or -1 if out of memory. */
int match_misaddressed(struct response_comparison *all, struct session *session, uint32_t idx);

#endif
