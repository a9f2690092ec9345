/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Delay line: frames under way, in the order in which they arrive. A frame arrives at its time; one
 * that is reordered arrives as soon as enough later frames have arrived before it.
 *
 *   1. The caller embeds a struct delay_entry in its frame and calls delay_line_put().
 *   2. delay_line_due() is the time of the next arrival.
 *   3. delay_line_take() returns the frame that arrives next.
 *
 * A line that is all zero is empty. The caller owns the frames; after delay_line_take() has
 * returned the last one, or NULL with UINT64_MAX as the time, delay_line_free() frees the line.
 */
#ifndef RNIC_IMPAIR_DELAY_LINE_H
#define RNIC_IMPAIR_DELAY_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/heap.h"

/* A reordered frame waits at most this long for the frames that overtake it. */
#define DELAY_LINE_HOLD_NS UINT64_C(1000000)

struct delay_entry {
    struct rnic_heap_node node; /* by time of arrival */
    uint64_t seq;               /* number of the delay_line_put() */
    uint32_t hold;              /* frames that still have to overtake it */
    bool held;                  /* it was put to be overtaken, and has not been by all */
    uint32_t lane;              /* only frames of its own lane overtake it */
};

struct delay_line {
    struct rnic_heap heap;
    size_t held; /* entries that are held */
    uint64_t seq;
};

/* Puts an entry that arrives at `due`, or after `hold` frames of its lane that are put later.
 * Returns false if there is no memory. */
bool delay_line_put(struct delay_line *line, struct delay_entry *entry, uint64_t due, uint32_t hold,
                    uint32_t lane);

/* Returns when the next entry arrives; UINT64_MAX: the line is empty. */
uint64_t delay_line_due(const struct delay_line *line);

/* Removes and returns the entry that arrives next, if it is due by `now`; else NULL. */
struct delay_entry *delay_line_take(struct delay_line *line, uint64_t now);

void delay_line_free(struct delay_line *line);

#endif
