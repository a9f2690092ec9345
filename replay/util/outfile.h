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
bool outfile_is_stdout(const char *path);

/* The output is another file than a capture to read, whatever the paths look like. 0, or the exit
 * status. */
int outfile_is_no_input(const char *path, const char *capture);

/* The outputs of a command are different files. 0, or the exit status. */
int outfiles_differ(const char *command, const char *const *path, unsigned cnt);

/* Opens and empties it; *out is left alone where there is none. 0, or the exit status. */
int outfile_open(const char *path, FILE **out);

/* Whether something could not be written to it; NULL is fine. Who writes need not complain of that:
 * outfile_close() does, and main() of standard output. */
bool outfile_failed(FILE *file);

/* Closes it, but for standard output; NULL is fine. 0, or the exit status if something could not be
 * written. */
int outfile_close(FILE *file, const char *path);

#endif
