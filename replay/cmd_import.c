/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cmd_import.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "engine/reasons/peer_quirks.h"
#include "suite/import.h"
#include "util/cli_opts.h"

enum { OPT_TO = CLI_LONG, OPT_CONNECTION, OPT_ANONYMIZE, OPT_NAME, OPT_DESCRIPTION, OPT_REPLACE };

static const struct cli_option rows[] = {
    {"to", OPT_TO, "FOLDER", "import into FOLDER, which is created if necessary; required"},
    {"name", OPT_NAME, "NAME", "file name of the imported capture (default: unchanged)"},
    {"replace", OPT_REPLACE, NULL, "replace the capture of this name and its expected verdict"},
    {"connection", OPT_CONNECTION, "N",
     "import only the connection with this number in the report of rocedrill replay; may be "
     "repeated"},
    {"anonymize", OPT_ANONYMIZE, "WHAT",
     "what to replace: addresses, payload, or both (addresses,payload)"},
    {"quirks", 'p', "NAME", "implementation that was captured, for column peer of the manifest"},
    {"description", OPT_DESCRIPTION, "TEXT",
     "description of the capture, for column shows of the manifest"},
    {"quiet", 'q', NULL, "do not print text on standard output"},
    {"help", 'h', NULL, "print this"},
};
static const struct cli_opts table = {"import", rows, sizeof(rows) / sizeof(rows[0])};

static void print_usage(FILE *out)
{
    fprintf(out, "usage: rocedrill import --to FOLDER [options] CAPTURE\n"
                 "Adds a capture to a folder of regression tests (run them with rocedrill replay "
                 "FOLDER). Copies the\n"
                 "connections that --connection selects, with their CM messages. Without this "
                 "option, copies the first\n"
                 "connection whose replay fails, or all RoCE frames if none fails. Writes a row "
                 "with the verdict of the\n"
                 "replay to manifest.tsv.\n"
                 "options:\n");
    cli_print_options(out, &table);
    fprintf(out, "exit status: 0 = imported, replay: PASS or SKIPPED; 1 = imported, replay: FAIL; "
                 "2 = unusable input\n"
                 "or wrong use, nothing was imported\n");
}

/* Parses the argument of --anonymize: "addresses", "payload", or both with a comma. Returns true,
 * or false for other text. */
static bool read_anonymize(const char *text, struct import_options *options)
{
    while (*text) {
        size_t len = strcspn(text, ",");

        if (len == 9 && strncmp(text, "addresses", len) == 0)
            options->addresses = true;
        else if (len == 7 && strncmp(text, "payload", len) == 0)
            options->payload = true;
        else
            return false;
        text += len;
        text += *text == ',' && text[1] != '\0';
    }
    return options->addresses || options->payload;
}

static bool read_connection(const char *text, struct import_options *options)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || n > UINT32_MAX)
        return false;
    options->want[options->want_cnt++] = (uint32_t)n;
    return true;
}

/* Returns whether the text fits in one column of the manifest: it has no tab or line break. */
static bool is_one_field(const char *text)
{
    return text[strcspn(text, "\t\r\n")] == '\0';
}

/* Reads the options. Returns -1 if the command shall continue, otherwise the exit status. */
static int read_options(int argc, char **argv, struct import_options *options, bool *quiet)
{
    int c;

    cli_begin(&table, argv);
    while ((c = cli_next(&table, argc, argv)) != -1) {
        switch (c) {
        case OPT_TO: options->folder = optarg; break;
        case OPT_NAME: options->name = optarg; break;
        case OPT_REPLACE: options->replace = true; break;
        case OPT_CONNECTION:
            if (options->want_cnt == SELECT_MAX)
                return cli_error("import: --connection is given more than %u times", SELECT_MAX);
            if (!read_connection(optarg, options))
                return cli_error("import: --connection %s: not the number of a connection", optarg);
            break;
        case OPT_ANONYMIZE:
            if (!read_anonymize(optarg, options))
                return cli_error("import: --anonymize %s: must be \"addresses\", \"payload\" or "
                                 "\"addresses,payload\"",
                                 optarg);
            break;
        case 'p':
            if (!is_one_field(optarg))
                return cli_error("import: --quirks: contains a tab or a line break");
            options->peer = optarg;
            break;
        case OPT_DESCRIPTION:
            if (!is_one_field(optarg))
                return cli_error("import: --description: contains a tab or a line break");
            options->shows = optarg;
            break;
        case 'q': *quiet = true; break;
        case 'h': print_usage(stdout); return EXIT_HOLDS;
        default: return EXIT_UNUSABLE;
        }
    }
    return -1;
}

static void print_result(const struct import_options *options, const struct import_result *added)
{
    printf("%s/captures/%s.pcap: %u of %u frames, %s; replay: %s\n", options->folder, added->name,
           added->frames, added->of, added->all ? "all connections" : added->text,
           verdict_name(added->verdict));
    if (added->verdict == VERDICT_FAIL)
        printf("%s/manifest.tsv now expects FAIL of this capture, so it detects no regression; "
               "to see the differences: rocedrill replay -v %s\n",
               options->folder, options->folder);
    if (added->cut)
        printf(
            "payload not compared: %u packet%s cut; for a complete test, capture whole packets\n",
            added->cut, added->cut == 1 ? " is" : "s are");
    if (options->addresses)
        printf("anonymized: %u MAC and %u IP addresses\n", added->macs, added->ips);
    if (options->payload)
        printf("anonymized: payload of %u packets\n", added->payloads);
    if (added->unknown)
        printf("left out: %u management datagrams that are not CM messages\n", added->unknown);
}

int cmd_import(int argc, char **argv)
{
    struct import_options options = {.folder = NULL};
    struct error error = {""};
    struct import_result added;
    bool quiet = false;
    int status = read_options(argc, argv, &options, &quiet);

    if (status >= 0)
        return status;
    if (argc - optind != 1)
        return cli_error(argc == optind ? "import: no capture given (see --help)"
                                        : "import: only one capture can be imported");
    if (!options.folder)
        return cli_error("import: --to FOLDER is required: the folder of regression tests, which "
                         "is created if necessary");
    if (import_capture(argv[optind], &options, &added, &error) != 0)
        return cli_error("%s", error.text);
    if (!quiet)
        print_result(&options, &added);
    return added.verdict == VERDICT_FAIL ? EXIT_DIFFERS : EXIT_HOLDS;
}
