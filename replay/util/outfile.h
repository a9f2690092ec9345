/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Outfile: the output files of a command. "-" is standard output, and a NULL path means no output:
 * all functions accept both. Used by the commands (cmd_*.c).
 *
 *   1. outfile_is_no_input() and outfiles_differ(), before any output is opened,
 *   2. outfile_open(),
 *   3. outfile_close().
 *
 * Errors are printed with cli_error(), and the result is the exit status.
 */
#ifndef REPLAY_UTIL_OUTFILE_H
#define REPLAY_UTIL_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

/* Returns whether the path is "-", which means standard output. */
bool outfile_is_stdout(const char *path);

/* Checks that the output is not the input capture, even under another path. Returns 0, or the exit
 * status after an error. */
int outfile_is_no_input(const char *path, const char *capture);

/* Checks that the outputs of a command are different files. Returns 0, or the exit status after an
 * error. */
int outfiles_differ(const char *command, const char *const *path, unsigned cnt);

/* Opens and truncates the output file. Leaves *out unchanged if `path` is NULL. Returns 0, or the
 * exit status after an error. */
int outfile_open(const char *path, FILE **out);

/* Returns whether a write to the file has failed; false for NULL. Code that writes does not check
 * for errors: outfile_close() reports a failed write, and for standard output main() does. */
bool outfile_failed(FILE *file);

/* Closes the file; does nothing for standard output and NULL. Returns 0. If a write failed, prints
 * an error and returns the exit status. */
int outfile_close(FILE *file, const char *path);

/* Opens a temporary file, so that a command that fails does not change an existing file. The
 * temporary file is in the folder of `path` or, if `path` is a symbolic link, of its target. Sets
 * *temp to its name. Opens `path` itself, and sets *temp to NULL, for standard output, a pipe, a
 * device, and a link to a file that does not exist. Returns 0, or the exit status after an
 * error. */
int outfile_open_temp(const char *path, FILE **out, char **temp);

/* Closes the file of outfile_open_temp(). Renames the temporary file to `path` if `status` is 0,
 * and removes it otherwise. Frees `temp`. Returns `status`. If `status` is 0 and a write failed,
 * prints an error and returns the exit status. */
int outfile_close_temp(FILE *file, const char *path, char *temp, int status);

#endif
