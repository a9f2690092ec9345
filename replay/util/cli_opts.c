/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/cli_opts.h"

#include <getopt.h>
#include <stdarg.h>
#include <string.h>
#include "util/strbuf.h"

int options_complain(const char *fmt, ...)
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
static int name_option(const struct option_row *row, char buf[64])
{
    return snprintf(buf, 64, "--%s%s%s", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
}

void options_usage(FILE *out, const struct options *options)
{
    char buf[64];
    int width = 0;

    for (size_t i = 0; i < options->cnt; i++) {
        int len = name_option(&options->row[i], buf);

        width = len > width ? len : width;
    }
    for (size_t i = 0; i < options->cnt; i++) {
        const struct option_row *row = &options->row[i];
        char letter[8] = "    ";

        if (row->key < OPTION_LONG)
            snprintf(letter, sizeof(letter), "-%c, ", row->key);
        name_option(row, buf);
        fprintf(out, "  %s%-*s  %s\n", letter, width, buf, row->help);
    }
}

/* Fills in getopt's two forms of the table. */
static void getopt_tables(const struct options *options, struct option longs[OPTIONS_MAX + 1],
                          char letters[2 * OPTIONS_MAX + 2])
{
    size_t cnt = 0, len = 0;

    letters[len++] = ':'; /* a missing argument is told from an unknown option */
    for (; cnt < options->cnt && cnt < OPTIONS_MAX; cnt++) {
        const struct option_row *row = &options->row[cnt];

        longs[cnt] =
            (struct option){row->name, row->arg ? required_argument : no_argument, NULL, row->key};
        if (row->key >= OPTION_LONG)
            continue;
        letters[len++] = (char)row->key;
        if (row->arg)
            letters[len++] = ':';
    }
    longs[cnt] = (struct option){NULL, 0, NULL, 0};
    letters[len] = '\0';
}

void options_begin(void)
{
    opterr = 0;
    optind = 0; /* start anew, whoever used getopt before */
}

int options_next(const struct options *options, int argc, char **argv)
{
    struct option longs[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 2];
    int c;

    getopt_tables(options, longs, letters);
    c = getopt_long(argc, argv, letters, longs, NULL);
    if (c == ':')
        options_complain("%s: %s needs an argument (see --help)", options->command,
                         argv[optind - 1]);
    else if (c == '?' && optopt && optopt < OPTION_LONG && strncmp(argv[optind - 1], "--", 2) != 0)
        options_complain("%s: no option -%c (see --help)", options->command, optopt);
    else if (c == '?')
        options_complain("%s: %s cannot be understood (see --help)", options->command,
                         argv[optind - 1]);
    return c == ':' || c == '?' ? OPTION_BAD : c;
}
