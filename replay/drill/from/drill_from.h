/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drill from a capture: writes a drill from one connection, datagram stream or CM exchange of a
 * capture. The written drill acts as one of the two recorded ends. The device under test takes the
 * place of the other end.
 *
 *   1. The replay engine infers the setup, the actions of the recorded device's program, and the
 *      packets that this device received. They become lines of the drill (from_rc.h, from_dgram.h,
 *      from_cm.h).
 *   2. The software RNIC plays these lines. Its packets, completions and events become the lines
 *      that the drill expects (from_drill.h).
 *   3. The software RNIC plays the finished drill, which must pass.
 */
#ifndef REPLAY_DRILL_FROM_DRILL_FROM_H
#define REPLAY_DRILL_FROM_DRILL_FROM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

#define DRILL_FROM_NONE UINT32_MAX

struct drill_from_options {
    uint32_t connection; /* number that `rocedrill check` and `replay` print, or DRILL_FROM_NONE */
    uint32_t stream;     /* number of a datagram stream that `replay` prints, or DRILL_FROM_NONE */
    uint32_t exchange;   /* number of a CM exchange that `replay` prints, or DRILL_FROM_NONE */
    bool requester;      /* true: the device under test is the requester, sender or active end.
                          * false: it is the responder, receiver or passive end */
};

/* Writes the drill. If `options` names no connection, stream or exchange, uses the first connection
 * that can be replayed, else the first stream, else the first exchange. Returns 0, or -1 and an
 * error. The error names the capture, and the frame if the error is about one frame. */
int drill_from_capture(const char *path, const struct drill_from_options *options, FILE *out,
                       struct error *error);

#endif
