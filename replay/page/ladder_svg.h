/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ladder SVG: draws a ladder diagram: packets as arrows between two ends. Below a packet that
 * differs from the expected one, it lists the differences. Called for the pages of `replay` and
 * `drill`:
 *
 *   1. set the members up to `expected_word` of a zeroed ladder_drawing
 *   2. ladder_svg_arrow(), ladder_svg_text(), ladder_svg_difference() in the order of time
 *   3. ladder_svg_write()
 *   4. ladder_svg_free()
 *
 * The drawing copies all texts of rows. If memory runs out, the drawing lacks rows.
 */
#ifndef REPLAY_PAGE_LADDER_SVG_H
#define REPLAY_PAGE_LADDER_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum ladder_mark {
    LADDER_UNMARKED,
    LADDER_EQUAL,
    LADDER_DIFFERS,
    LADDER_KNOWN, /* differs by a known deviation */
    LADDER_NOTED, /* damaged, duplicated by the network, or inconclusive */
};

struct ladder_line; /* row of the drawing */

struct ladder_drawing {
    /* Titles of the columns of numbers and times: "frame", "seconds". */
    const char *number_word, *time_word;
    const char *end[2]; /* names of the left and of the right end */
    /* Words before the two values of a difference: "recorded", "replayed". */
    const char *expected_word, *actual_word;
    /* The conversation has more packets before those in the drawing, or after them. */
    bool more_before, more_after;
    struct ladder_line *line;
    size_t cnt, cap;
};

/* Adds a packet as an arrow. `number` is the number of its frame, or of its line in a drill; 0:
 * none. `time` has the unit that `time_word` names. */
void ladder_svg_arrow(struct ladder_drawing *drawing, bool to_right, unsigned number, double time,
                      const char *text, enum ladder_mark mark);

/* Adds an event other than a packet. */
void ladder_svg_text(struct ladder_drawing *drawing, unsigned number, double time,
                     const char *text);

/* Adds a difference of the packet that was added last. */
void ladder_svg_difference(struct ladder_drawing *drawing, const char *field, const char *expected,
                           const char *actual);

/* Writes the element <svg>. The style sheet of the page defines its colours. */
void ladder_svg_write(FILE *out, const struct ladder_drawing *drawing);

void ladder_svg_free(struct ladder_drawing *drawing);

#endif
