/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ladder: prints or draws the packets of one direction as arrows between requester and responder.
 * Each packet that was compared has a mark with the result.
 */
#ifndef REPLAY_REPORT_LADDER_H
#define REPLAY_REPORT_LADDER_H

#include <stdio.h>
#include "engine/replay.h"
#include "page/ladder_svg.h"

/* Number of events shown before and after the first difference. */
#define LADDER_AROUND 6u

/* Results of one comparison for the packets of a direction. */
struct ladder_view {
    const struct inferred_setup *setup;
    const uint8_t *mark; /* enum event_mark of each event of `setup`; NULL: not compared */
    const struct diff *diff;
    size_t diff_cnt;
};

struct ladder {
    const struct inferred_setup *setup;
    uint32_t run;               /* index of the direction that the ladder shows */
    struct ladder_view view[2]; /* results of our RNIC as responder ([0]) and as requester ([1]) */
};

/* Events of a direction that the ladder shows: from `from` to `to` - 1. */
struct ladder_part {
    uint32_t from, to;
};

/* Selects the events of direction `dir` that the ladder shows. If `whole` is true, selects all
 * events. Otherwise selects the events around the first difference of our responder, and those
 * around the first difference of our requester. Fills `ladder` and `part`. Returns the number of
 * parts, at most 2. */
unsigned ladder_select(struct ladder *ladder, struct ladder_part part[2],
                       const struct replay *replay, uint32_t dir, bool whole);

void ladder_print(FILE *out, const struct ladder *ladder, const struct ladder_part *part);

/* Writes a part of the ladder diagram as SVG. */
void ladder_draw(FILE *out, const struct ladder *ladder, const struct ladder_part *part);

#endif
