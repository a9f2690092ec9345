/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Progress: one line on a terminal that says how far the work is; nothing elsewhere. */
#ifndef REPLAY_CAPTURE_PROGRESS_H
#define REPLAY_CAPTURE_PROGRESS_H

#include <stdio.h>
#include "capture/capture_reader.h"

struct progress {
    FILE *out;    /* NULL: say nothing */
    uint64_t due; /* ns of the monotonic clock: when to say something next */
    bool shown;
    const char *what; /* "reading", "writing" */
};

/* Speaks on `out` if that is a terminal and `wanted`. */
void progress_begin(struct progress *progress, FILE *out, bool wanted, const char *what);

/* To be called now and then; writes at most five times a second, and not in the first second. */
void progress_step(struct progress *progress, const struct capture_reader *reader, uint32_t frames);

/* Takes the line away. */
void progress_end(struct progress *progress);

#endif
