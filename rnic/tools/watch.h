/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Watch: validates the packets that a program and its children send, while they run (rnic-run
 * --selfcheck). Each process records into a folder (port/frameio/record.h). A thread reads the
 * recordings every few milliseconds, sorts the frames by time, and passes them to `rocedrill
 * check`. The thread frees the space of data already read, so that neither memory nor disk use
 * grows with the run time.
 */
#ifndef TOOLS_WATCH_H
#define TOOLS_WATCH_H

#include <stdbool.h>

struct watch;

/*
 * Creates the folder and starts to watch. `rocedrill` is the validator. It prints violations on
 * standard error when they are found, and its report on standard output at the end. `copy` is a
 * file for all frames in order, or NULL. Returns NULL and sets errno on failure.
 */
struct watch *watch_start(const char *rocedrill, const char *copy);

const char *watch_folder(const struct watch *watch);

/* Validates the remaining frames, removes the folder and frees everything. Called after the
 * programs have ended. Returns the exit status of rocedrill; 2 and *nothing if nothing was
 * recorded; 126 or 127 if rocedrill could not be started. Sets *copied if the copy is complete. */
int watch_end(struct watch *watch, bool *nothing, bool *copied);

#endif
