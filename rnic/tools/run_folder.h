/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Run folder: a private folder into which the programs of one rnic-run record, with a tally
 * (port/sys/tally.h). Owned by the caller. If rnic-run is killed, the folder stays. The next
 * rnic-run of the same user deletes it if it is a scratch folder.
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

/* Deletes what killed runs of this user left in scratch_folder(), and creates a folder there.
 * Returns 0, or -1 with `error` set. */
int run_folder_scratch(struct run_folder *folder, struct error *error);

/* Creates a folder whose name is a template of mkdtemp(3). Returns 0, or -1 with `error` set. */
int run_folder_create(struct run_folder *folder, const char *name, struct error *error);

/* Closes the tally and deletes the folder with the files in it. */
void run_folder_remove(struct run_folder *folder);

/* Prints how many frames or rows, named by `what`, the programs could not record, in the name of
 * `option`. `effect` is the consequence for the user. Returns false if some were lost. */
bool run_folder_is_whole(const struct run_folder *folder, const char *option, const char *what,
                         const char *effect);

#endif
