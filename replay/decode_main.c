/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "decode_main.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <string.h>
#include "decode.h"
#include "options.h"

static const struct option_row rows[] = {
    {"json", 'j', "FILE", "JSON, a line a packet; - is standard output"},
    {"verbose", 'v', NULL, "every field"},
    {"quiet", 'q', NULL, "no text on standard output"},
    {"help", 'h', NULL, "print this"},
};
static const struct options table = {"decode", rows, sizeof(rows) / sizeof(rows[0])};

struct arguments {
    bool verbose, quiet;
    const char *json_path;
};

static void usage(FILE *out)
{
    fprintf(out, "usage: rocedrill decode [options] CAPTURE...   (- is standard input)\n"
                 "Prints the RoCE frames of captures in words.\noptions:\n");
    options_usage(out, &table);
    fprintf(out, "exit status: 0 = all of it was read, 2 = unusable input or wrong use\n");
}

/* -1 to go on, else the exit status. */
static int read_options(int argc, char **argv, struct arguments *args)
{
    int c;

    options_begin();
    while ((c = options_next(&table, argc, argv)) != -1) {
        switch (c) {
        case 'j': args->json_path = optarg; break;
        case 'v': args->verbose = true; break;
        case 'q': args->quiet = true; break;
        case 'h': usage(stdout); return EXIT_HOLDS;
        default: return EXIT_UNUSABLE;
        }
    }
    if (optind >= argc)
        return options_complain("decode: no capture given (see --help)");
    return -1;
}

static int decode_all(int cnt, char **files, const struct decode_options *options)
{
    int status = EXIT_HOLDS;

    for (int i = 0; i < cnt; i++) {
        struct fault fault = {""};

        if (cnt > 1 && options->text)
            printf("%s:\n", files[i]);
        if (decode_file(files[i], options, &fault) != 0)
            status = options_complain("%s", fault.text);
    }
    return status;
}

int decode_main(int argc, char **argv)
{
    struct arguments args = {0};
    struct decode_options options = {0};
    int status = read_options(argc, argv, &args);

    if (status >= 0)
        return status;
    if (args.json_path && strcmp(args.json_path, "-") == 0) {
        options.json = stdout;
        args.quiet = true;
    } else if (args.json_path) {
        options.json = fopen(args.json_path, "w");
        if (!options.json)
            return options_complain("%s: %s", args.json_path, strerror(errno));
    }
    options.verbose = args.verbose;
    options.text = args.quiet ? NULL : stdout;
    status = decode_all(argc - optind, argv + optind, &options);
    if (options.json && options.json != stdout && fclose(options.json) != 0)
        status = options_complain("%s: the JSON cannot be written", args.json_path);
    return status;
}
