/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ladder: a conversation as arrows between its two ends, with the verdict on each packet that was
 * compared.
 */
#ifndef REPLAY_REPORT_LADDER_H
#define REPLAY_REPORT_LADDER_H

#include <stdio.h>
#include "engine/rc_compare_responses.h"

/* Steps shown before and after the first difference. */
#define LADDER_AROUND 6u

/* What was found out about the packets of a connection. */
struct ladder_view {
    const uint8_t *mark; /* enum mark for each step, or NULL */
    const struct diff *diff;
    size_t diff_cnt;
};

struct ladder {
    const struct inferred_setup *setup;
    uint32_t run;               /* whose of the differences */
    struct ladder_view view[2]; /* with our RNIC as responder, as requester */
};

/* Steps `from` up to, not including, `to`. */
void ladder_print(FILE *out, const struct ladder *ladder, uint32_t from, uint32_t to);

#endif
