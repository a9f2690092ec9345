/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Timeline: prints the times of send requests that verbs/timeline.h recorded. rnic-run --timeline
 * calls it. */
#ifndef TOOLS_TIMELINE_H
#define TOOLS_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Prints a row for each request of the file `name` to `rows`, in the order of posting, and
 * percentiles of each phase to `summary`. `utc_offset`: UTC minus
 * CLOCK_MONOTONIC in the recordings of the same run, ns. Returns false and sets errno if the file
 * cannot be read. */
bool timeline_print(const char *name, uint64_t utc_offset, FILE *rows, FILE *summary);

#endif
