/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay page: writes the page of `replay --html`. The page has the results, the differences with
 * ladder diagrams, and the graphs of the first PAGE_CHECKS captures that failed. Called by
 * cmd_replay.c. */
#ifndef REPLAY_REPLAY_PAGE_H
#define REPLAY_REPLAY_PAGE_H

#include "capture/narrow.h"
#include "suite/suite_report.h"

/* Writes the page for the jobs that worker_pool_run() returned; options.ladders must have been set.
 * `folder`: folder that the user named, or NULL. The page lists the captures with an unexpected
 * outcome before the others. `narrow`: selected frames, or NULL for all frames. Returns 0, or -1
 * and an error. The caller checks the stream for write errors. */
int replay_page_write(FILE *out, const struct suite_totals *totals, const struct job *jobs,
                      size_t cnt, const char *folder, const struct narrow *narrow,
                      struct error *error);

#endif
