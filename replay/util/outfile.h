/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Output: the files that a command is to write. "-" is standard output; a path that is NULL is no
 * output, which every function takes. What is wrong is complained of (cli_error()).
 */
#ifndef REPLAY_UTIL_OUTFILE_H
#define REPLAY_UTIL_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

/* Whether the path is "-". */
bool output_is_standard(const char *path);

/* The output is another file than a capture to read, whatever the paths look like. 0, or the exit
 * status. */
int output_spares(const char *path, const char *capture);

/* The outputs of a command are different files. 0, or the exit status. */
int outputs_differ(const char *command, const char *const *path, unsigned cnt);

/* Opens and empties it; *out is left alone where there is none. 0, or the exit status. */
int output_open(const char *path, FILE **out);

/* Whether something could not be written to it; NULL is fine. Who writes need not complain of that:
 * output_close() does, and main() of standard output. */
bool output_failed(FILE *file);

/* Closes it, but for standard output; NULL is fine. 0, or the exit status if something could not be
 * written. */
int output_close(FILE *file, const char *path);

#endif
