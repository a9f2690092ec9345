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

#define CLI_LONG 256 /* keys from here on have no letter */

struct cli_option {
    const char *name;
    int key;         /* below CLI_LONG also a letter */
    const char *arg; /* what its argument is called, or NULL */
    const char *help;
};

struct cli_opts {
    const char *command;
    const struct cli_option *row;
    size_t cnt; /* at most CLI_OPTIONS_MAX */
};
#define CLI_OPTIONS_MAX 64u

/* One line on standard error. Returns EXIT_UNUSABLE. */
int cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The table, a line each. */
void cli_print_options(FILE *out, const struct cli_opts *options);

/* Starts reading. */
void cli_begin(void);

/* The key of the next option, its argument in optarg; -1 at the end, where optind is the first
 * argument that is no option; CLI_BAD after a complaint. */
#define CLI_BAD (-2)
int cli_next(const struct cli_opts *options, int argc, char **argv);

#endif
