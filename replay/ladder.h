/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ladder: a side's conversation as people draw it: the requester left, the responder right, time
 * downwards, and for each recorded answer whether our RNIC's was the same.
 */
#ifndef REPLAY_LADDER_H
#define REPLAY_LADDER_H

#include <stdio.h>
#include "compare.h"

/* Prints the steps `from` .. `to` - 1 of a side (`to` is cut to their number). */
void ladder_print(FILE *out, const struct comparison *cmp, uint32_t run, uint32_t from,
                  uint32_t to);

#endif
