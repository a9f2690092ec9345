/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Watch: checks the packets of a program and its child processes while the processes run (rnic-run
 * --selfcheck). Each process records into a folder (port/frameio/record.h). A thread reads the
 * recordings every few milliseconds, sorts the frames by time, and passes them to `rocedrill
 * check`. The thread frees the disk space of data that it has read. If `rocedrill check` is slower
 * than the programs, the programs wait while more than 256 MiB are not yet judged. Therefore the
 * use of memory and disk does not grow with the run time.
 */
#ifndef TOOLS_WATCH_H
#define TOOLS_WATCH_H

#include <stdbool.h>
#include "tools/run_folder.h"

struct watch;

/* Result of the check, at the end of rnic-run. */
struct watch_result {
    int verdict;         /* exit status of rocedrill; 2 if nothing was recorded; 126 or 127 if
                          * rocedrill could not be started */
    bool nothing;        /* no packet was recorded */
    bool opened;         /* a program opened a device */
    bool copied;         /* the copy of the frames is complete */
    unsigned unreadable; /* number of recordings that could not be read; each process writes a
                          * recording for each interface */
};

/*
 * Starts to check the recordings in `folder`. `rocedrill` is the path of the validator, which
 * prints violations on standard error when it finds them, and its report on standard output at the
 * end. `copy` is the path of a file for all frames in order, or NULL; the report names this file.
 * `comment` is the comment of this file, or NULL. The caller owns `folder`, which must be empty
 * now, and `copy`. Both must exist until watch_end(). Returns NULL and sets errno on failure.
 */
struct watch *watch_start(struct run_folder *folder, const char *rocedrill, const char *copy,
                          const char *comment);

/* Validates the remaining frames, sets *result and frees everything. `comment` replaces the comment
 * of watch_start() in the report, and in the copy, unless either is NULL or the copy is a pipe.
 * Call it after the programs have ended. */
void watch_end(struct watch *watch, const char *comment, struct watch_result *result);

#endif
