/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Watch: validates the packets that a program and its children send, while they run (rnic-run
 * --selfcheck). Each process records into a folder (port/frameio/record.h). A thread reads the
 * recordings every few milliseconds, sorts the frames by time, and passes them to `rocedrill
 * check`. The thread frees the space of data already read. If `rocedrill check` is slower than the
 * programs, they wait when 256 MiB are not yet judged. So neither memory nor disk use
 * grows with the run time.
 */
#ifndef TOOLS_WATCH_H
#define TOOLS_WATCH_H

#include <stdbool.h>
#include "tools/run_folder.h"

struct watch;

/* Result of watching a capture, when rnic-run ends. */
struct watch_result {
    int verdict;         /* exit status of rocedrill; 2 if nothing was recorded; 126 or 127 if
                          * rocedrill could not be started */
    bool nothing;        /* no packet was recorded */
    bool copied;         /* the copy is complete */
    unsigned unreadable; /* number of recordings of processes that could not be read */
};

/*
 * Creates the folder and starts to watch. `rocedrill` is the validator. It prints violations on
 * standard error when they are found, and its report on standard output at the end. `copy` is a
 * file for all frames in order, or NULL. `folder` is the empty folder of the recordings, owned by
 * the caller; it must exist until watch_end(). Returns NULL and sets errno on failure.
 */
struct watch *watch_start(struct run_folder *folder, const char *rocedrill, const char *copy);

/* Validates the remaining frames and frees everything. Called after the programs have ended. */
void watch_end(struct watch *watch, struct watch_result *result);

#endif
