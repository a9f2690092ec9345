/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Delay line: frames in transit, sorted by time of arrival. A reordered frame has no fixed time of
 * arrival: it arrives when enough frames that were sent later have arrived, but at most
 * DELAY_LINE_HOLD_NS late.
 *
 *   1. The caller embeds a struct delay_entry in its frame and calls delay_line_put().
 *   2. delay_line_due() returns the time of the next arrival.
 *   3. delay_line_take() returns the frame that arrives next.
 *
 * A line that is all zero is empty. The caller owns the frames. Before delay_line_free(), the
 * caller removes all frames: it calls delay_line_take() with time UINT64_MAX until NULL is
 * returned.
 */
#ifndef RNIC_IMPAIR_DELAY_LINE_H
#define RNIC_IMPAIR_DELAY_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/heap.h"

/* longest time that a reordered frame waits for frames to overtake it, ns */
#define DELAY_LINE_HOLD_NS UINT64_C(1000000)

struct delay_entry {
    struct rnic_heap_node node; /* heap node; the key is the time of arrival */
    uint64_t seq;               /* sequence number of the delay_line_put() call */
    uint32_t hold;              /* number of later frames that must still arrive before this frame;
                                 * 0 if the frame was not reordered, or if enough frames have
                                 * overtaken it */
    bool held;                  /* this frame waits for other frames to overtake it */
    uint32_t lane;              /* number chosen by the caller, for example one for each
                                 * direction. Only frames with the same number overtake this
                                 * frame */
};

struct delay_line {
    struct rnic_heap heap;
    size_t held; /* number of entries that wait to be overtaken */
    uint64_t seq;
};

/* Inserts a frame into the line. If `hold` is 0, the frame arrives at time `due`, ns. Otherwise it
 * arrives after `hold` later frames with the same number `lane` have arrived, but at most
 * DELAY_LINE_HOLD_NS after `due`. Returns true, or false if out of memory. */
bool delay_line_put(struct delay_line *line, struct delay_entry *entry, uint64_t due, uint32_t hold,
                    uint32_t lane);

/* Returns the time of the next arrival, or UINT64_MAX if the line is empty. */
uint64_t delay_line_due(const struct delay_line *line);

/* Removes the next frame and returns it, if it is due at time `now`; otherwise returns NULL. */
struct delay_entry *delay_line_take(struct delay_line *line, uint64_t now);

void delay_line_free(struct delay_line *line);

#endif
