/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rocedrill: arguments and exit status. 0 = everything holds, 1 = a difference was found, 2 = input
 * that cannot be used or wrong use, with one line on standard error.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "check_main.h"
#include "decode.h"
#include "deviations.h"
#include "replay.h"

#ifndef ROCEDRILL_VERSION
#define ROCEDRILL_VERSION "unknown"
#endif

enum { EXIT_HOLDS = 0, EXIT_DIFFERS = 1, EXIT_UNUSABLE = 2 };

enum { FOR_REPLAY = 1, FOR_DECODE = 2, FOR_BOTH = 3 };

static const struct option_row {
    const char *name;
    char letter;
    const char *arg; /* or NULL */
    unsigned commands;
    const char *help;
} rows[] = {
    {"ladder", 'l', NULL, FOR_REPLAY, "print every conversation with the verdict on each answer"},
    {"peer", 'p', "NAME", FOR_REPLAY, "known deviations of this implementation do not fail"},
    {"json", 'j', "FILE", FOR_BOTH, "write JSON to FILE, or - for standard output"},
    {"verbose", 'v', NULL, FOR_BOTH, "replay: memory regions; decode: every field"},
    {"quiet", 'q', NULL, FOR_BOTH, "no text on standard output"},
    {"help", 'h', NULL, FOR_BOTH, "print this"},
    {"version", 'V', NULL, FOR_BOTH, "print the version"},
};
#define ROW_CNT (sizeof(rows) / sizeof(rows[0]))

struct options {
    bool ladder;
    bool verbose;
    bool quiet;
    const char *peer;
    const char *json_path;
    FILE *json;
};

struct command {
    const char *name;
    unsigned bit;
    const char *help;
    int (*run)(char **files, int cnt, const struct options *options);
    int (*run_own)(int argc, char **argv); /* reads its own options; or NULL */
};

static int run_replay(char **files, int cnt, const struct options *options);
static int run_decode(char **files, int cnt, const struct options *options);

static const struct command commands[] = {
    {"check", 0, "judge the traffic of captures by the rules (its options: check --help)", NULL,
     check_main},
    {"replay", FOR_REPLAY, "play captures against the software RNIC and judge its answers",
     run_replay, NULL},
    {"decode", FOR_DECODE, "print the RoCE frames of captures in words", run_decode, NULL},
};
#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *out, const struct command *command)
{
    fprintf(out, "usage: rocedrill %s [options] CAPTURE...   (- is standard input)\n",
            command ? command->name : "COMMAND");
    for (size_t i = 0; !command && i < COMMAND_CNT; i++)
        fprintf(out, "  %-18s %s\n", commands[i].name, commands[i].help);
    fprintf(out, "options:\n");
    for (size_t i = 0; i < ROW_CNT; i++) {
        char buf[64];

        if (command && !(rows[i].commands & command->bit))
            continue;
        snprintf(buf, sizeof(buf), "--%s%s%s", rows[i].name, rows[i].arg ? " " : "",
                 rows[i].arg ? rows[i].arg : "");
        fprintf(out, "  -%c, %-14s %s\n", rows[i].letter, buf, rows[i].help);
    }
    if (!command || command->bit & FOR_REPLAY) {
        const char *peer;

        fprintf(out, "peers:");
        for (unsigned i = 0; (peer = deviation_peer_name(i)) != NULL; i++)
            fprintf(out, " %s", peer);
        fprintf(out, "\nIn differences, expected is what the capture recorded and actual is what "
                     "our RNIC answered.\n");
    }
    fprintf(out, "exit status: 0 = holds, 1 = a difference was found, 2 = unusable input or wrong "
                 "use\n");
}

static int complain(const char *text)
{
    fprintf(stderr, "rocedrill: %s\n", text);
    return EXIT_UNUSABLE;
}

/* ---- commands ----------------------------------------------------------------------------------
 */

/* One capture: its exit status; its JSON is appended to `all`. */
static int replay_one(const char *path, const struct options *options, json_t *all)
{
    const struct report_options report = {.ladder = options->ladder, .verbose = options->verbose};
    enum verdict verdict = VERDICT_SKIPPED;
    struct fault fault = {""};
    struct replay replay;
    int rc = replay_run(&replay, path, options->peer, &fault);

    if (rc == 0) {
        verdict = report_verdict(&replay.comparison);
        if (!options->quiet)
            report_text(stdout, &replay.comparison, &report);
        if (all && json_array_append_new(all, report_json(&replay.comparison)) != 0)
            rc = fault_set(&fault, "%s: the JSON report cannot be built", path);
        else if (verdict == VERDICT_SKIPPED)
            rc = fault_set(&fault, "%s: nothing to replay: %s", replay.trace.name,
                           report_skip_reason(&replay.comparison));
    }
    replay_free(&replay);
    fflush(stdout);
    if (rc != 0)
        return complain(fault.text);
    return verdict == VERDICT_FAIL ? EXIT_DIFFERS : EXIT_HOLDS;
}

static int run_replay(char **files, int cnt, const struct options *options)
{
    json_t *all = options->json ? json_array() : NULL;
    int status = EXIT_HOLDS;

    for (int i = 0; i < cnt; i++) {
        int one = replay_one(files[i], options, all);

        if (one > status)
            status = one;
    }
    if (options->json && (!all || json_dumpf(all, options->json, JSON_INDENT(2)) != 0 ||
                          fputc('\n', options->json) == EOF))
        status = complain("the JSON report cannot be written");
    json_decref(all);
    return status;
}

static int run_decode(char **files, int cnt, const struct options *options)
{
    const struct decode_options decode = {
        .verbose = options->verbose, .text = options->quiet ? NULL : stdout, .json = options->json};
    int status = EXIT_HOLDS;

    for (int i = 0; i < cnt; i++) {
        struct fault fault = {""};

        if (cnt > 1 && decode.text)
            printf("%s:\n", files[i]);
        if (decode_file(files[i], &decode, &fault) != 0) {
            fflush(stdout);
            status = complain(fault.text);
        }
    }
    return status;
}

/* ---- arguments ---------------------------------------------------------------------------------
 */

/* Fills in getopt's two forms of the table. */
static void getopt_tables(const struct command *command, struct option *longs, char *letters)
{
    size_t cnt = 0, len = 0;

    for (size_t i = 0; i < ROW_CNT; i++) {
        if (!(rows[i].commands & command->bit))
            continue;
        longs[cnt++] = (struct option){rows[i].name, rows[i].arg ? required_argument : no_argument,
                                       NULL, rows[i].letter};
        letters[len++] = rows[i].letter;
        if (rows[i].arg)
            letters[len++] = ':';
    }
    longs[cnt] = (struct option){NULL, 0, NULL, 0};
    letters[len] = '\0';
}

/* -1 to go on, else the exit status. */
static int read_options(const struct command *command, int argc, char **argv,
                        struct options *options)
{
    struct option longs[ROW_CNT + 1];
    char letters[2 * ROW_CNT + 1];
    int c;

    getopt_tables(command, longs, letters);
    while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        switch (c) {
        case 'l': options->ladder = true; break;
        case 'p': options->peer = optarg; break;
        case 'j': options->json_path = optarg; break;
        case 'v': options->verbose = true; break;
        case 'q': options->quiet = true; break;
        case 'h': usage(stdout, command); return EXIT_HOLDS;
        case 'V': printf("rocedrill %s\n", ROCEDRILL_VERSION); return EXIT_HOLDS;
        default: return EXIT_UNUSABLE; /* getopt has said why, in one line */
        }
    }
    if (options->peer && !deviation_peer_known(options->peer)) {
        fprintf(stderr, "rocedrill: no peer profile \"%s\" (rocedrill replay --help lists them)\n",
                options->peer);
        return EXIT_UNUSABLE;
    }
    if (optind >= argc) {
        fprintf(stderr, "rocedrill: %s: no capture given (see --help)\n", command->name);
        return EXIT_UNUSABLE;
    }
    if (options->json_path) {
        bool out = strcmp(options->json_path, "-") == 0;

        options->quiet |= out;
        options->json = out ? stdout : fopen(options->json_path, "w");
        if (!options->json) {
            fprintf(stderr, "rocedrill: %s: %s\n", options->json_path, strerror(errno));
            return EXIT_UNUSABLE;
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    const struct command *command = NULL;
    struct options options = {0};
    int status;

    if (argc < 2)
        return complain("no command given (see rocedrill --help)");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        usage(stdout, NULL);
        return EXIT_HOLDS;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("rocedrill %s\n", ROCEDRILL_VERSION);
        return EXIT_HOLDS;
    }
    for (size_t i = 0; i < COMMAND_CNT; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            command = &commands[i];
    if (!command) {
        fprintf(stderr, "rocedrill: no command \"%s\" (see rocedrill --help)\n", argv[1]);
        return EXIT_UNUSABLE;
    }
    argv[1] = argv[0]; /* getopt names the program in what it says */
    if (command->run_own) {
        status = command->run_own(argc - 1, argv + 1);
        if (fflush(stdout) != 0 || ferror(stdout))
            status = complain("standard output cannot be written");
        return status;
    }
    status = read_options(command, argc - 1, argv + 1, &options);
    if (status >= 0)
        return status;
    status = command->run(argv + 1 + optind, argc - 1 - optind, &options);
    if (options.json && options.json != stdout && fclose(options.json) != 0)
        status = complain("the JSON cannot be written");
    if (fflush(stdout) != 0 || ferror(stdout))
        status = complain("standard output cannot be written");
    return status;
}
