/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay page: the page of `replay --html`: results, differences and ladders, and the graphs of the
 * captures that failed. Called by cmd_replay.c. */
#ifndef REPLAY_REPLAY_PAGE_H
#define REPLAY_REPLAY_PAGE_H

#include "capture/narrow.h"
#include "suite/suite_report.h"

/* Number of failed captures whose graphs the page has. */
#define REPLAY_PAGE_GRAPHS 16u

/* Writes the page of jobs that worker_pool_run() returned with options.ladders. `narrow`: selected
 * frames, or NULL. Returns 0, or -1 and an error; a write error stays in the stream. */
int replay_page_write(FILE *out, const struct suite_totals *totals, const struct job *jobs,
                      size_t cnt, const struct narrow *narrow, struct error *error);

#endif
