/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/cli_opts.h"

#include <getopt.h>
#include <stdarg.h>
#include <string.h>
#include "util/strbuf.h"

int cli_error(const char *fmt, ...)
{
    char line[sizeof(struct fault)];
    va_list args;

    fflush(stdout);
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    fprintf(stderr, "rocedrill: ");
    text_put(stderr, line);
    fputc('\n', stderr);
    return EXIT_UNUSABLE;
}

/* "--json FILE"; its length. */
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

/* Fills in getopt's two forms of the table. */
static void getopt_tables(const struct cli_opts *options, struct option longs[CLI_OPTIONS_MAX + 1],
                          char letters[2 * CLI_OPTIONS_MAX + 2])
{
    size_t cnt = 0, len = 0;

    letters[len++] = ':'; /* a missing argument is told from an unknown option */
    for (; cnt < options->cnt && cnt < CLI_OPTIONS_MAX; cnt++) {
        const struct cli_option *row = &options->row[cnt];

        longs[cnt] =
            (struct option){row->name, row->arg ? required_argument : no_argument, NULL, row->key};
        if (row->key >= CLI_LONG)
            continue;
        letters[len++] = (char)row->key;
        if (row->arg)
            letters[len++] = ':';
    }
    longs[cnt] = (struct option){NULL, 0, NULL, 0};
    letters[len] = '\0';
}

void cli_begin(void)
{
    opterr = 0;
    optind = 0; /* start anew, whoever used getopt before */
}

int cli_next(const struct cli_opts *options, int argc, char **argv)
{
    struct option longs[CLI_OPTIONS_MAX + 1];
    char letters[2 * CLI_OPTIONS_MAX + 2];
    int c;

    getopt_tables(options, longs, letters);
    c = getopt_long(argc, argv, letters, longs, NULL);
    if (c == ':')
        cli_error("%s: %s needs an argument (see --help)", options->command, argv[optind - 1]);
    else if (c == '?' && optopt && optopt < CLI_LONG && strncmp(argv[optind - 1], "--", 2) != 0)
        cli_error("%s: no option -%c (see --help)", options->command, optopt);
    else if (c == '?')
        cli_error("%s: %s cannot be understood (see --help)", options->command, argv[optind - 1]);
    return c == ':' || c == '?' ? CLI_BAD : c;
}
