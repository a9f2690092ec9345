/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Run folder: a private folder into which the programs of one rnic-run record, with a file of
 * shared counters (port/sys/tally.h). The caller owns it. If rnic-run is killed, the folder
 * remains. If it is a scratch folder, the next rnic-run of the same user deletes it.
 */
#ifndef TOOLS_RUN_FOLDER_H
#define TOOLS_RUN_FOLDER_H

#include <limits.h>
#include <stdio.h>
#include "base/error.h"
#include "port/sys/tally.h"

struct run_folder {
    char path[PATH_MAX];
    struct tally_file tally;
};

/* Deletes the folders in scratch_folder() that remained because an rnic-run of this user was
 * killed. Then creates a new folder there. Returns 0, or -1 with `error` set. */
int run_folder_scratch(struct run_folder *folder, struct error *error);

/* Creates a folder. Its name is a template of mkdtemp(3). Returns 0, or -1 with `error` set. */
int run_folder_create(struct run_folder *folder, const char *name, struct error *error);

/* Closes the tally and deletes the folder with the files in it. */
void run_folder_remove(struct run_folder *folder);

/* If the programs could not record some frames or rows, prints their number. `what` names them;
 * `option` is the option of rnic-run for which they were recorded; `effect` is the consequence for
 * the user. Returns whether everything was recorded. */
bool run_folder_is_whole(const struct run_folder *folder, const char *option, const char *what,
                         const char *effect);

#endif
