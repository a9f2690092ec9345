/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Watch: the validator of flows looks at what a program and its children send while they run. Each
 * of them records into a folder (port/record.h); what is there is read every few milliseconds, put
 * in the order of its times, and given to `rocedrill check`. What was read is given back to the
 * file system, so that neither memory nor disk grow with the time it takes.
 */
#ifndef TOOLS_WATCH_H
#define TOOLS_WATCH_H

#include <stdbool.h>

struct watch;

/*
 * Makes the folder and starts to watch. `rocedrill`: the program that judges, which prints
 * violations on standard error when it sees them, and its report on standard output at the end.
 * `copy`: a file that gets all that was recorded, in order; or NULL. NULL and errno on failure.
 */
struct watch *watch_start(const char *rocedrill, const char *copy);

const char *watch_folder(const struct watch *watch);

/* After the programs: judges what is left, removes the folder and frees all. The exit status of
 * rocedrill; 2 if nothing was recorded, *nothing is set then; 126 and 127 if it could not be
 * started. *copied tells whether the copy is whole. */
int watch_end(struct watch *watch, bool *nothing, bool *copied);

#endif
