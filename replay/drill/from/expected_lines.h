/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Expected lines: writes the line of a drill that expects a frame, completion or event, from the
 * row of the log in which the device did it. drill_from.c calls expected_lines_add() for each row.
 */
#ifndef REPLAY_DRILL_FROM_EXPECTED_LINES_H
#define REPLAY_DRILL_FROM_EXPECTED_LINES_H

#include <stdio.h>
#include "drill/engine.h"

#define DRILL_FROM_QPS_MAX     8u
#define DRILL_FROM_REGIONS_MAX 48u

/* Region of the responder's memory in the capture. */
struct drill_region {
    uint32_t host; /* index into session.host */
    uint32_t rkey;
    uint64_t low, span;
};

struct expected_lines {
    const struct script *script;
    unsigned qp_cnt;
    bool after_verb; /* the row follows a verb of the program: a device may send an ACK with its new
                      * credits, or not */
    uint32_t psn[DRILL_FROM_QPS_MAX]; /* first PSN of the requests to each QP */
};

/* Returns the name of the object in the drill: M0, M1, ..., and A, B, ... Each result is valid
 * until the next call. */
const char *drill_region_name(unsigned index);
const char *drill_qp_name(unsigned index);

/* Returns the distance from PSN `from` to `psn`. */
int drill_psn_distance(uint32_t psn, uint32_t from);

/* Writes the line that expects the row. Writes nothing for a packet to the device. */
void expected_lines_add(const struct expected_lines *lines, const struct drill_log_row *row,
                        FILE *out);

#endif
