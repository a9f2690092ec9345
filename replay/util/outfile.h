/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Outfile: the output files of a command. "-" is standard output, and a NULL path means no output:
 * all functions accept both. Used by the commands (cmd_*.c).
 *
 *   1. outfile_is_no_input() and outfiles_differ(), before any output is opened,
 *   2. outfile_open(), 3. outfile_close().
 *
 * Errors are printed with cli_error(), and the result is the exit status.
 */
#ifndef REPLAY_UTIL_OUTFILE_H
#define REPLAY_UTIL_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

/* Whether the path is "-", standard output. */
bool outfile_is_stdout(const char *path);

/* Checks that the output is not the same file as an input capture, also by another path. 0, or the
 * exit status. */
int outfile_is_no_input(const char *path, const char *capture);

/* Checks that the outputs of a command are different files. 0, or the exit status. */
int outfiles_differ(const char *command, const char *const *path, unsigned cnt);

/* Opens and truncates it; leaves *out alone for NULL. 0, or the exit status. */
int outfile_open(const char *path, FILE **out);

/* Whether a write has failed; NULL is fine. A writer need not report it: outfile_close() does, and
 * main() for standard output. */
bool outfile_failed(FILE *file);

/* Closes it, except standard output; NULL is fine. 0, or the exit status if a write has failed. */
int outfile_close(FILE *file, const char *path);

#endif
