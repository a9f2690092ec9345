/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ladder: prints a conversation as arrows between its two ends, with the result for each packet
 * that was compared.
 */
#ifndef REPLAY_REPORT_LADDER_H
#define REPLAY_REPORT_LADDER_H

#include <stdio.h>
#include "engine/rc_compare_responses.h"

/* Number of steps shown before and after the first difference. */
#define LADDER_AROUND 6u

/* Results for the packets of one direction. */
struct ladder_view {
    const uint8_t *mark; /* enum event_mark of each step, or NULL */
    const struct diff *diff;
    size_t diff_cnt;
};

struct ladder {
    const struct inferred_setup *setup;
    uint32_t run;               /* direction whose differences are shown */
    struct ladder_view view[2]; /* results with our RNIC as responder [0] and as requester [1] */
};

/* Prints the steps from `from` to `to` - 1. */
void ladder_print(FILE *out, const struct ladder *ladder, uint32_t from, uint32_t to);

#endif
