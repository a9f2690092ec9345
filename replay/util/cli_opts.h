/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Command line of one command. A table describes its options; the help text and the arguments of
 * getopt_long() are generated from this table. The commands call, in this order:
 *
 *   1. cli_begin()
 *   2. cli_next() until it returns -1 or CLI_BAD
 *   3. cli_error() to report errors that they find themselves
 *
 * Errors are one line on standard error, "rocedrill: COMMAND: PROBLEM".
 */
#ifndef REPLAY_UTIL_CLI_OPTS_H
#define REPLAY_UTIL_CLI_OPTS_H

#include <stdio.h>

/* Exit status of every command. */
enum { EXIT_HOLDS = 0, EXIT_DIFFERS = 1, EXIT_UNUSABLE = 2 };

#define CLI_LONG 256 /* smallest key of an option that has no short form */

struct cli_option {
    const char *name;
    int key;         /* letter of the short form; CLI_LONG or more if there is none */
    const char *arg; /* name of the option's argument in the help text; NULL for an option without
                      * an argument */
    const char *help;
};

struct cli_opts {
    const char *command;
    const struct cli_option *row;
    size_t cnt; /* number of rows, at most CLI_OPTIONS_MAX */
};
#define CLI_OPTIONS_MAX 48u /* maximum number of options of a command */

/* Prints "rocedrill: " and the text as one line on standard error. Returns EXIT_UNUSABLE. */
int cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define CLI_JOBS_MAX 256u /* largest value of --jobs */

/* Returns the number of threads or processes for a command: `wanted`, or the number of processors
 * if `wanted` is 0. The result is at most `most`, but at least 1. */
unsigned cli_job_cnt(unsigned wanted, size_t most);

/* Parses the argument of --jobs, a number from 1 to CLI_JOBS_MAX. Returns 0, or the exit status
 * after an error. */
int cli_jobs(const char *command, const char *text, unsigned *jobs);

/* Prints one line for each option. */
void cli_print_options(FILE *out, const struct cli_opts *options);

/* Starts reading options. Sets argv[0] to "rocedrill: COMMAND", with which error messages begin. */
void cli_begin(const struct cli_opts *options, char **argv);

/* Returns the key of the next option, with its argument in optarg. Returns -1 after the last one;
 * optind is then the index of the first operand. Returns CLI_BAD after it printed an error.
 * Accepts the former name of a renamed option and prints the new name on standard error. */
#define CLI_BAD (-2)
int cli_next(const struct cli_opts *options, int argc, char **argv);

/* Returns the current name of a command. If `name` is a former name of the command, prints the
 * current name on standard error. */
const char *cli_command_name(const char *name);

#endif
