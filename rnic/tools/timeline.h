/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Timeline: prints the times of send requests, which verbs/timeline.h recorded. Called for rnic-run
 * --timeline. */
#ifndef TOOLS_TIMELINE_H
#define TOOLS_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Reads the file `name`. Prints one row for each request to `rows`, in the order of posting, and
 * percentiles of each phase to `summary`. `utc_offset` is UTC minus CLOCK_MONOTONIC in the
 * recordings of the same run, ns. Returns true, or false with errno if the file cannot be read. */
bool timeline_print(const char *name, uint64_t utc_offset, FILE *rows, FILE *summary);

#endif
