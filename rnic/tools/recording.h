/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recording: the file of rnic-run -w. The programs record into a folder, a file for each process
 * and interface (port/frameio/record.h), which becomes one file when they have ended.
 *
 *   1. recording_begin() makes the folder; the caller passes it to the programs as RNIC_RECORD;
 *   2. recording_end() makes the file and removes the folder.
 *
 * If rnic-run is killed in between, the folder stays beside the file, and each file in it can be
 * read up to the kill.
 */
#ifndef TOOLS_RECORDING_H
#define TOOLS_RECORDING_H

#include <stdbool.h>
#include "tools/run_folder.h"

/* Creates a folder beside the file at `path`, or in scratch_folder() if that fails. Returns 0, or
 * -1 with `error` set. */
int recording_begin(const char *path, struct run_folder *folder, struct error *error);

/*
 * Writes all frames of the folder to `path`, sorted by time. Waits up to a second for processes
 * that still record. If a process continues, sets *left and leaves its file in the folder. Returns
 * 0, or -1 with `error` set; the folder then remains, too. Otherwise deletes the folder.
 */
int recording_end(const char *path, struct run_folder *folder, bool *left, struct error *error);

#endif
