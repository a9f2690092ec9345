/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/cli_opts.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/option_error.h"
#include "util/strbuf.h"

int cli_error(const char *fmt, ...)
{
    char line[2 * PATH_MAX + 512];
    va_list args;

    fflush(stdout);
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    fprintf(stderr, "rocedrill: ");
    put_escaped(stderr, line);
    fputc('\n', stderr);
    return EXIT_UNUSABLE;
}

/* Writes an option as the help text shows it, such as "--json FILE". Returns the length of the
 * text. */
static int option_text(const struct cli_option *row, char buf[64])
{
    return snprintf(buf, 64, "--%s%s%s", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
}

void cli_print_options(FILE *out, const struct cli_opts *options)
{
    char buf[64];
    int width = 0;

    for (size_t i = 0; i < options->cnt; i++) {
        int len = option_text(&options->row[i], buf);

        width = len > width ? len : width;
    }
    for (size_t i = 0; i < options->cnt; i++) {
        const struct cli_option *row = &options->row[i];
        char letter[8] = "    ";

        if (row->key < CLI_LONG)
            snprintf(letter, sizeof(letter), "-%c, ", row->key);
        option_text(row, buf);
        fprintf(out, "  %s%-*s  %s\n", letter, width, buf, row->help);
    }
}

/* Former names of options, which are accepted until the next release. */
static const struct {
    const char *former, *present;
} renamed_options[] =
    {
        {"peer", "quirks"},       {"closed", "closed-loop"}, {"edit", "impair"},
        {"at-once", "immediate"}, {"shows", "description"},
},
  renamed_commands[] = {
      {"add", "import"},
};
#define RENAMED_CNT (sizeof(renamed_options) / sizeof(renamed_options[0]))

/* Long options for getopt_long(): the options of the table, then their former names. */
struct long_options {
    struct option row[CLI_OPTIONS_MAX + RENAMED_CNT + 1];
    size_t cnt;
};

static void add_long_option(struct long_options *longs, const char *name,
                            const struct cli_option *row)
{
    longs->row[longs->cnt++] =
        (struct option){name, row->arg ? required_argument : no_argument, NULL, row->key};
}

static void make_long_options(const struct cli_opts *options, struct long_options *longs)
{
    *longs = (struct long_options){0};
    for (size_t i = 0; i < options->cnt; i++)
        add_long_option(longs, options->row[i].name, &options->row[i]);
    for (size_t k = 0; k < RENAMED_CNT; k++)
        for (size_t i = 0; i < options->cnt; i++)
            if (strcmp(options->row[i].name, renamed_options[k].present) == 0)
                add_long_option(longs, renamed_options[k].former, &options->row[i]);
}

static void make_letters(const struct cli_opts *options, char letters[2 * CLI_OPTIONS_MAX + 1])
{
    for (size_t i = 0; i < options->cnt; i++)
        if (options->row[i].key < CLI_LONG) {
            *letters++ = (char)options->row[i].key;
            if (options->row[i].arg)
                *letters++ = ':';
        }
    *letters = '\0';
}

void cli_begin(const struct cli_opts *options, char **argv)
{
    static char name[64];

    snprintf(name, sizeof(name), "rocedrill: %s", options->command);
    argv[0] = name;
    optind = 0; /* resets getopt_long() of glibc, which remembers the previous command line */
}

/* Prints an error that getopt_long() detected. `c` is its result, '?' or ':'. */
static void complain_of_option(const struct cli_opts *options, int c, char *const *argv,
                               struct long_options *longs)
{
    char text[PATH_MAX];

    longs->row[options->cnt] = (struct option){0}; /* end the list here, so that the error message
                                                    * suggests no former name */
    if (option_error(text, sizeof(text), c, argv, longs->row))
        cli_error("%s: %s (see rocedrill %s --help)", options->command, text, options->command);
    else
        cli_error("%s: %s", options->command, text);
}

int cli_next(const struct cli_opts *options, int argc, char **argv)
{
    struct long_options longs;
    char letters[2 * CLI_OPTIONS_MAX + 2];
    int c, idx = -1;

    make_long_options(options, &longs);
    make_letters(options, letters + 1);
    /* Makes getopt_long() return ':' for a missing argument and '?' for an unknown option. */
    letters[0] = ':';
    opterr = 0;
    c = getopt_long(argc, argv, letters, longs.row, &idx);
    if (c == '?' || c == ':') {
        complain_of_option(options, c, argv, &longs);
        return CLI_BAD;
    }
    for (size_t k = 0; idx >= (int)options->cnt && k < RENAMED_CNT; k++)
        if (strcmp(longs.row[idx].name, renamed_options[k].former) == 0)
            cli_error("%s: option '--%s' is now '--%s'", options->command,
                      renamed_options[k].former, renamed_options[k].present);
    return c;
}

const char *cli_command_name(const char *name)
{
    for (size_t k = 0; k < sizeof(renamed_commands) / sizeof(renamed_commands[0]); k++)
        if (strcmp(name, renamed_commands[k].former) == 0) {
            cli_error("command '%s' is now '%s'", name, renamed_commands[k].present);
            return renamed_commands[k].present;
        }
    return name;
}

unsigned cli_job_cnt(unsigned wanted, size_t most)
{
    long processors = wanted ? (long)wanted : sysconf(_SC_NPROCESSORS_ONLN);

    if (processors < 1 || most < 1)
        return 1;
    return (size_t)processors < most ? (unsigned)processors : (unsigned)most;
}

int cli_jobs(const char *command, const char *text, unsigned *jobs)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    *jobs = *text >= '0' && *text <= '9' && *end == '\0' && n <= CLI_JOBS_MAX ? (unsigned)n : 0;
    return *jobs
               ? 0
               : cli_error("%s: --jobs %s: not a number from 1 to %u", command, text, CLI_JOBS_MAX);
}
