/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cmd_decode.h"

#include <getopt.h>
#include <stdbool.h>
#include "base/error.h"
#include "capture/narrow.h"
#include "check/connection_frames.h"
#include "decode.h"
#include "util/cli_opts.h"
#include "util/colour.h"
#include "util/outfile.h"
#include "util/sandbox.h"
#include "util/strbuf.h"

static const struct cli_option rows[] = {
    {"json", 'j', "FILE", "write one JSON object per packet; - is stdout"},
    NARROW_OPTIONS,
    {"verbose", 'v', NULL, "print every field, with the name that --impair set= accepts"},
    {"quiet", 'q', NULL, "do not print text on standard output"},
    COLOUR_OPTION,
    SANDBOX_OPTION,
    {"help", 'h', NULL, "print this"},
};
static const struct cli_opts table = {"decode", rows, sizeof(rows) / sizeof(rows[0])};

struct decode_args {
    bool verbose, quiet, no_sandbox;
    const char *json_path;
    enum colour_mode colour;
    struct narrow narrow;
};

static void print_usage(FILE *out)
{
    fprintf(out, "usage: rocedrill decode [options] CAPTURE...   (- reads standard input)\n"
                 "Prints the RoCE frames of captures as text.\noptions:\n");
    cli_print_options(out, &table);
    fprintf(out, "exit status: 0 = every capture was read, 2 = unusable input or wrong use\n");
}

/* Reads the options. Returns -1 if the command shall continue, otherwise the exit status. */
static int read_options(int argc, char **argv, struct decode_args *args)
{
    int c;

    cli_begin(&table, argv);
    while ((c = cli_next(&table, argc, argv)) != -1) {
        switch (c) {
        case 'j': args->json_path = optarg; break;
        case 'v': args->verbose = true; break;
        case 'q': args->quiet = true; break;
        case COLOUR_KEY:
            if (colour_option(table.command, optarg, &args->colour) != 0)
                return EXIT_UNUSABLE;
            break;
        case SANDBOX_KEY: args->no_sandbox = true; break;
        case 'h': print_usage(stdout); return EXIT_HOLDS;
        case CLI_BAD: return EXIT_UNUSABLE;
        default:
            if (narrow_option(&args->narrow, table.command, c, optarg) != 0)
                return EXIT_UNUSABLE;
        }
    }
    if (optind >= argc)
        return cli_error("decode: no capture given (see --help)");
    if (args->narrow.has_connection && argc - optind > 1)
        return cli_error("decode: --connection requires one capture");
    return -1;
}

static int decode_all(int cnt, char **files, const struct decode_options *options)
{
    int status = EXIT_HOLDS;

    for (int i = 0; i < cnt; i++) {
        struct error error = {""};

        if (cnt > 1 && options->text) {
            put_escaped(options->text, files[i]);
            fputs(":\n", options->text);
        }
        if (decode_file(files[i], options, &error) == 0)
            continue;
        status = EXIT_UNUSABLE;
        if (outfile_failed(options->json))
            break;
        cli_error("%s", error.text);
    }
    return status;
}

int cmd_decode(int argc, char **argv)
{
    struct decode_args args = {.narrow = NARROW_NONE};
    struct decode_options options = {.narrow = &args.narrow};
    struct error error;
    int status = read_options(argc, argv, &args);

    if (status >= 0)
        return status;
    if (!args.no_sandbox)
        (void)sandbox_enter("decode", false);
    for (int i = optind; i < argc; i++)
        if (outfile_is_no_input(args.json_path, argv[i]) != 0)
            return EXIT_UNUSABLE;
    if (outfile_open(args.json_path, &options.json) != 0)
        return EXIT_UNUSABLE;
    options.verbose = args.verbose;
    options.text = args.quiet || options.json == stdout ? NULL : colour_open(args.colour, false);
    if (connection_frames(argv[optind], &args.narrow, false, &error) == 0)
        status = decode_all(argc - optind, argv + optind, &options);
    else
        status = cli_error("%s", error.text);
    narrow_free(&args.narrow);
    colour_close(options.text);
    if (outfile_close(options.json, args.json_path) != 0)
        status = EXIT_UNUSABLE;
    return status;
}
