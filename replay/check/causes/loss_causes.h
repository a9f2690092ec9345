/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Loss causes: sentences about retransmissions because of lost, reordered or damaged packets. The
 * table of slow_causes.c lists them.
 */
#ifndef REPLAY_CHECK_CAUSES_LOSS_CAUSES_H
#define REPLAY_CHECK_CAUSES_LOSS_CAUSES_H

#include "check/causes/slow_direction.h"

extern const struct slow_cause slow_overtaken, slow_damaged, slow_lost;
/* READ responses that were reordered, and READ responses that were lost. */
extern const struct slow_cause slow_answer_overtaken, slow_answer_lost;
extern const struct slow_cause slow_late;        /* ACK timeouts */
extern const struct slow_cause slow_refused;     /* transmit queue of Soft-RoCE was full */
extern const struct slow_cause slow_unexplained; /* no cause is known */

#endif
