/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Options: the command line of one command as a table, from which its help and what getopt wants
 * are made, and the complaints are the same everywhere.
 */
#ifndef REPLAY_UTIL_CLI_OPTS_H
#define REPLAY_UTIL_CLI_OPTS_H

#include <stdio.h>

/* Exit status of every command. */
enum { EXIT_HOLDS = 0, EXIT_DIFFERS = 1, EXIT_UNUSABLE = 2 };

#define OPTION_LONG 256 /* keys from here on have no letter */

struct option_row {
    const char *name;
    int key;         /* below OPTION_LONG also a letter */
    const char *arg; /* what its argument is called, or NULL */
    const char *help;
};

struct options {
    const char *command;
    const struct option_row *row;
    size_t cnt; /* at most OPTIONS_MAX */
};
#define OPTIONS_MAX 64u

/* One line on standard error. Returns EXIT_UNUSABLE. */
int options_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The table, a line each. */
void options_usage(FILE *out, const struct options *options);

/* Starts reading. */
void options_begin(void);

/* The key of the next option, its argument in optarg; -1 at the end, where optind is the first
 * argument that is no option; OPTION_BAD after a complaint. */
#define OPTION_BAD (-2)
int options_next(const struct options *options, int argc, char **argv);

#endif
