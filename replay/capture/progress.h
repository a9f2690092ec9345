/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Progress: one line on a terminal with the number of frames and the percentage read. Prints
 * nothing if the output is not a terminal. Used by check. */
#ifndef REPLAY_CAPTURE_PROGRESS_H
#define REPLAY_CAPTURE_PROGRESS_H

#include <stdio.h>
#include "capture/capture_reader.h"

struct progress {
    FILE *out;    /* output stream, or NULL to print no line */
    uint64_t due; /* time of the next line, ns of the monotonic clock */
    bool shown;
    const char *what; /* "reading", "writing" */
};

/* Starts the progress line on `out` if `out` is a terminal and `wanted` is true. */
void progress_begin(struct progress *progress, FILE *out, bool wanted, const char *what);

/* Prints the line at most five times per second, but not in the first second. Call it regularly,
 * for example after each batch of frames. */
void progress_step(struct progress *progress, const struct capture_reader *reader, uint32_t frames);

/* Erases the progress line. */
void progress_end(struct progress *progress);

#endif
