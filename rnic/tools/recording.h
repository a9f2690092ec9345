/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recording: the file of rnic-run -w. The programs record into a folder, with one file for each
 * process and interface (port/frameio/record.h). When the programs have ended, these files are
 * joined to one.
 *
 *   1. recording_begin() makes the folder; the caller passes it to the programs as RNIC_RECORD;
 *   2. recording_end() makes the file and removes the folder.
 *
 * If rnic-run is killed between these calls, the folder remains next to the file. The files in it
 * contain all frames up to that time.
 */
#ifndef TOOLS_RECORDING_H
#define TOOLS_RECORDING_H

#include <stdbool.h>
#include "tools/run_folder.h"

/* Creates a folder next to the file at `path`. If that fails, creates it in scratch_folder().
 * Returns 0, or -1 with `error` set. */
int recording_begin(const char *path, struct run_folder *folder, struct error *error);

/* Writes all frames of the folder to `path`, sorted by time, and deletes the folder. `comment` is
 * the comment of the file, or NULL. Waits up to a second for processes that still record. If one
 * still records after that, sets *left and keeps the folder with its file. Returns 0, or -1 with
 * `error` set; then the folder remains, too. */
int recording_end(const char *path, struct run_folder *folder, const char *comment, bool *left,
                  struct error *error);

#endif
