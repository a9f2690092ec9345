/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cmd_replay.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "capture/narrow.h"
#include "check/connection_frames.h"
#include "engine/reasons/peer_quirks.h"
#include "live/live_opts.h"
#include "live/load_gen.h"
#include "replay_page.h"
#include "suite/suite_report.h"
#include "util/cli_opts.h"
#include "util/colour.h"
#include "util/file_queue.h"
#include "util/outfile.h"
#include "util/shard.h"

#define REPEAT_MAX 1000000u

enum {
    OPT_JUNIT = CLI_LONG,
    OPT_HTML,
    OPT_SIDE,
    OPT_STRICT,
    OPT_CLOSED_LOOP,
    OPT_IMPAIR,
    OPT_SEED,
    OPT_REPEAT,
    OPT_RECORD,
    OPT_DUMP_SETUP,
    OPT_SETUP,
    OPT_LIVE
};

static const struct cli_option rows[] = {
    {"ladder", 'l', NULL,
     "print the packets of every connection with the verdict on each response"},
    {"quirks", 'p', "NAME",
     "do not fail on known deviations of this implementation; auto detects the implementation, "
     "none fails on all deviations (default: auto; with --live: none)"},
    {"side", OPT_SIDE, "SIDE",
     "role of our RNIC (with --live: of the target): responder, requester or both (default)"},
    {"strict", OPT_STRICT, NULL,
     "require identical packets, even where the specification allows different packets; for "
     "captures of our RNIC in virtual time (--record)"},
    {"closed-loop", OPT_CLOSED_LOOP, NULL,
     "run our RNIC at both ends (or at the end --side) of a simulated link"},
    {"impair", OPT_IMPAIR, "RULES",
     "run a closed loop with these impairments; may be repeated (--impair help prints the "
     "grammar)"},
    {"seed", OPT_SEED, "N", "in a closed loop: seed of the random impairments (default 1)"},
    {"repeat", OPT_REPEAT, "N", "in a closed loop: run N times, each time with the next seed"},
    {"record", OPT_RECORD, "FILE", "in a closed loop: write the frames of the last run as pcapng"},
    {"dump-setup", OPT_DUMP_SETUP, "FILE",
     "write the device setup inferred from the capture, as JSON"},
    {"setup", OPT_SETUP, "FILE",
     "removed option; instead, write a drill with rocedrill drill --from and edit the drill"},
    NARROW_OPTIONS,
    {"jobs", 'J', "N", "replay N captures in parallel (default: number of processors)"},
    {"json", 'j', "FILE", "write a summary and each report as JSON; - is stdout"},
    {"junit", OPT_JUNIT, "FILE", "write JUnit XML, one test case per connection; - is stdout"},
#ifdef HAVE_PAGE
    {"html", OPT_HTML, "OUT", "write a page with the differences, for a browser; - is stdout"},
#endif
    LIVE_OPTION_ROWS(OPT_LIVE){
        "verbose", 'v', NULL,
        "print memory regions; for a folder, print the report of every capture"},
    {"quiet", 'q', NULL, "print neither progress nor text on standard output"},
    SHARD_OPTION("captures"),
    COLOUR_OPTION,
    {"help", 'h', NULL, "print this"},
};
static const struct cli_opts table = {"replay", rows, sizeof(rows) / sizeof(rows[0])};

struct replay_args {
    bool ladder, verbose, quiet;
    unsigned sides; /* --side: roles of our RNIC, or with --live of the target; bit set of enum
                     * replay_role; 0: both */
    bool strict;
    bool closed;
    const char *dump_path;
    /* Options of closed loops (our RNIC at both ends); used if `closed` is set. */
    struct loop_options loop;
    unsigned jobs; /* number of captures that are replayed at the same time; 0: number of
                    * processors */
    const char *peer, *json_path, *junit_path, *html_path;
    enum colour_mode colour;
    FILE *text; /* stream of the reports; NULL with --quiet */
    FILE *json, *junit, *html;
    struct capture_set captures;
    struct shard shard;
    struct narrow narrow;
    struct live_args live;
};

static void print_usage(FILE *out)
{
    fprintf(
        out,
        "usage: rocedrill replay [options] CAPTURE|FOLDER...   (- reads standard input)\n"
        "Replays captures with the software RNIC at either end and compares its packets with the "
        "recorded ones.\nFor a FOLDER, replays all captures in it. Its manifest.tsv has the "
        "expected verdicts (columns file,\npeer, replay: PASS, FAIL, SKIPPED or "
        "UNUSABLE).\noptions:\n");
    cli_print_options(out, &table);
    fprintf(out, "names for --quirks: auto none");
    for (int i = ROCE_PROFILE_NONE + 1; i < ROCE_PROFILE_CNT; i++)
        fprintf(out, " %s", roce_profile_name((enum roce_profile)i));
    fprintf(
        out,
        "\nIn a difference, \"recorded\" is the value in the capture, and \"replayed\" the value "
        "of our RNIC,\nor with --live the value of the target.\n"
        "exit status: 0 = PASS, 1 = FAIL, 2 = unusable input or wrong use; for a folder, 0 = "
        "all verdicts are\nas expected\n");
}

/* ---- reading the arguments ---------------------------------------------------------------------
 */

/* Converts the argument of --side to enum replay_role. Returns 0 for an unknown word. */
static unsigned side_number(const char *text)
{
    static const char *const names[] = {
        [REPLAY_RESPONDER] = "responder", [REPLAY_REQUESTER] = "requester", [REPLAY_BOTH] = "both"};

    for (unsigned i = REPLAY_RESPONDER; i <= REPLAY_BOTH; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return 0;
}

/* Parses a number from `min` to `max`. Returns true and sets *out, or false for other text. */
static bool number_of(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *out >= min && *out <= max;
}

/* Reads one option for closed loops (our RNIC at both ends). Returns 0, or the exit status after an
 * error. */
static int read_loop_option(int option, struct replay_args *args)
{
    struct error error;
    uint64_t n;

    args->closed = true;
    switch (option) {
    case OPT_IMPAIR:
        return impair_rules_add(&args->loop.impair, optarg, IMPAIR_OFFLINE, &error) == 0
                   ? 0
                   : cli_error("replay: --impair: %s", error.text);
    case OPT_SEED:
        if (!number_of(optarg, 0, INT64_MAX, &args->loop.seed))
            return cli_error("replay: --seed %s: not a number below 2^63", optarg);
        return 0;
    case OPT_REPEAT:
        if (!number_of(optarg, 1, REPEAT_MAX, &n))
            return cli_error("replay: --repeat %s: not a number from 1 to %u", optarg, REPEAT_MAX);
        args->loop.repeat = (uint32_t)n;
        return 0;
    default: args->loop.record = optarg; return 0;
    }
}

/* Reads the options. Returns -1 if the command shall continue, otherwise the exit status. */
static int read_options(int argc, char **argv, struct replay_args *args)
{
    int c;

    cli_begin(&table, argv);
    while ((c = cli_next(&table, argc, argv)) != -1) {
        switch (c) {
        case 'l': args->ladder = true; break;
        case 'p':
            if (!peer_quirks_profile_known(optarg) && strcmp(optarg, PEER_QUIRKS_NONE) != 0)
                return cli_error("--quirks: unknown name '%s' (rocedrill replay --help lists them)",
                                 optarg);
            args->peer = optarg;
            break;
        case OPT_SIDE:
            args->sides = side_number(optarg);
            if (!args->sides)
                return cli_error("replay: --side %s: not responder, requester or both", optarg);
            break;
        case OPT_STRICT: args->strict = true; break;
        case OPT_CLOSED_LOOP: args->closed = true; break;
        case OPT_DUMP_SETUP: args->dump_path = optarg; break;
        case OPT_SETUP:
            return cli_error("replay: --setup was removed: write a drill with rocedrill drill "
                             "--from CAPTURE and edit the drill");
        case OPT_IMPAIR:
        case OPT_SEED:
        case OPT_REPEAT:
        case OPT_RECORD:
            if (c == OPT_IMPAIR && strcmp(optarg, "help") == 0) {
                impair_print_help(stdout);
                return EXIT_HOLDS;
            }
            if (read_loop_option(c, args) != 0)
                return EXIT_UNUSABLE;
            break;
        case 'J':
            if (cli_jobs(table.command, optarg, &args->jobs) != 0)
                return EXIT_UNUSABLE;
            break;
        case 'j': args->json_path = optarg; break;
        case OPT_JUNIT: args->junit_path = optarg; break;
        case OPT_HTML: args->html_path = optarg; break;
        case 'v': args->verbose = true; break;
        case 'q': args->quiet = true; break;
        case COLOUR_KEY:
            if (colour_option(table.command, optarg, &args->colour) != 0)
                return EXIT_UNUSABLE;
            break;
        case SHARD_KEY:
            if (shard_option(&args->shard, table.command, optarg) != 0)
                return EXIT_UNUSABLE;
            break;
        case 'h': print_usage(stdout); return EXIT_HOLDS;
        case CLI_BAD: return EXIT_UNUSABLE;
        case NARROW_FIRST:
        case NARROW_FROM:
        case NARROW_TO:
        case NARROW_HOST:
        case NARROW_CONNECTION:
            if (narrow_option(&args->narrow, table.command, c, optarg) != 0)
                return EXIT_UNUSABLE;
            break;
        default:
            if (live_option(&args->live, c - OPT_LIVE, optarg) != 0)
                return EXIT_UNUSABLE;
        }
    }
    if (args->live.options.iface && args->closed)
        return cli_error("replay: --live cannot be used with --closed-loop or --impair");
    if (args->strict && args->closed)
        return cli_error("replay: --strict cannot be used with --closed-loop or --impair");
    if (args->html_path && (args->closed || args->live.load))
        return cli_error("replay: --html cannot be used with --%s",
                         args->closed ? "closed-loop or --impair" : "load");
    if (args->shard.count && (args->live.options.iface || args->html_path))
        return cli_error("replay: --shard cannot be used with --%s",
                         args->html_path ? "html; rocedrill merge writes the page" : "live");
    return live_options_check(&args->live, args->sides) != 0 ? EXIT_UNUSABLE : -1;
}

/* Checks that no output file is also an input capture or another output. Returns 0, or the exit
 * status after an error. */
static int check_outputs(const struct replay_args *args)
{
    const char *const out[] = {args->json_path, args->junit_path, args->html_path, args->dump_path,
                               args->loop.record};
    const unsigned outs = sizeof(out) / sizeof(out[0]);

    if (outfile_is_stdout(args->dump_path) || outfile_is_stdout(args->loop.record))
        return cli_error("replay: --dump-setup and --record require a file, not -");
    if (capture_set_is_no_output(&args->captures, out, outs) != 0)
        return EXIT_UNUSABLE;
    return outfiles_differ(table.command, out, outs);
}

/* Collects the captures that the arguments name, and checks that the options can be combined.
 * Returns 0, or the exit status after an error. */
static int read_captures(int cnt, char **paths, struct replay_args *args)
{
    unsigned stdins = 0;
    struct error error;

    if (cnt == 0)
        return cli_error("replay: no capture given (see --help)");
    for (int i = 0; i < cnt; i++) {
        stdins += strcmp(paths[i], "-") == 0;
        if (capture_set_add(&args->captures, paths[i], &error) != 0)
            return cli_error("%s", error.text);
    }
    if (args->loop.record && args->captures.cnt > 1)
        return cli_error("replay: --record requires one capture");
    if (args->dump_path && args->captures.cnt > 1)
        return cli_error("replay: --dump-setup requires one capture");
    if (args->dump_path && args->live.options.iface)
        return cli_error("replay: --dump-setup cannot be used with --live");
    if (args->narrow.any && args->live.load)
        return cli_error("replay: --load transmits whole captures and cannot be used with "
                         "--connection, --host, --from, --to or --first");
    if (args->narrow.any && args->captures.folder)
        return cli_error("replay: --connection, --host, --from, --to and --first require captures, "
                         "not a folder");
    if (args->narrow.has_connection && args->captures.cnt > 1)
        return cli_error("replay: --connection requires one capture");
    if (connection_frames(args->captures.item[0].path, &args->narrow, false, &error) != 0)
        return cli_error("%s", error.text);
    if (stdins > 1)
        return cli_error("replay: standard input can be read only once");
    if (capture_set_shard(&args->captures, &args->shard, &error) != 0)
        return cli_error("replay: %s", error.text);
    return check_outputs(args);
}

/* ---- running the command -----------------------------------------------------------------------
 */

/* Prints the report of a capture as soon as its replay is done. Not called if the user named a
 * folder. */
static void print_job(void *ctx, const struct job *job)
{
    const struct replay_args *args = ctx;

    if (job->text && args->text) {
        fputs(job->text, args->text);
        fflush(args->text);
    }
    if (job->error)
        cli_error("%s", job->error);
}

static void print_progress(void *ctx, size_t finished, size_t cnt)
{
    (void)ctx;
    fprintf(stderr, "\r%zu of %zu captures%s", finished, cnt, finished == cnt ? "\r\033[K" : "");
    fflush(stderr);
}

static int write_reports(const struct replay_args *args, const struct suite_totals *totals,
                         const struct job *jobs)
{
    const struct suite_text how = {.folder = args->captures.folder, .verbose = args->verbose};
    size_t cnt = args->captures.cnt;
    struct error error;

    if (args->junit)
        suite_junit(args->junit, totals, jobs, cnt);
    if (args->html && replay_page_write(args->html, totals, jobs, cnt, args->captures.folder,
                                        args->narrow.any ? &args->narrow : NULL, &error) != 0)
        return cli_error("%s", error.text);
    if (!args->json ||
        suite_json(args->json, totals, jobs, cnt, args->shard.count ? &args->shard : NULL, &how) ||
        outfile_failed(args->json))
        return 0;
    return cli_error("%s: no memory for the report", args->json_path);
}

static int run_replay(struct replay_args *args)
{
    const struct job_options options = {
        .peer = args->peer,
        .sides = args->sides,
        .strict = args->strict,
        .narrow = args->narrow.any ? &args->narrow : NULL,
        .closed = args->closed ? &args->loop : NULL,
        .dump_path = args->dump_path,
        .live = args->live.options.iface ? &args->live.options : NULL,
        .text = !args->quiet || args->shard.count,
        .json = args->json || args->junit || args->html,
        .ladders = args->html || (args->json && args->shard.count),
        .report = {.ladder = args->ladder, .verbose = args->verbose}};
    bool gated = args->captures.folder != NULL;
    struct job_watcher watcher = {.done = gated ? NULL : print_job, .ctx = args};
    struct job *jobs = NULL;
    struct error error;
    struct suite_totals totals;
    unsigned workers =
        args->live.options.iface ? 1 : file_queue_workers(args->jobs, args->captures.cnt);
    int status;

    if (gated && !args->quiet && isatty(STDERR_FILENO))
        watcher.progress = print_progress;
    if (worker_pool_run(&args->captures, workers, &options, &watcher, &jobs, &error) != 0) {
        jobs_free(jobs, args->captures.cnt);
        return cli_error("%s", error.text);
    }
    suite_totals_of(&totals, jobs, args->captures.cnt);
    status = suite_status(&totals);
    if (gated && args->text)
        suite_text(args->text, &totals, jobs, args->captures.cnt, args->verbose);
    if (write_reports(args, &totals, jobs) != 0)
        status = EXIT_UNUSABLE;
    jobs_free(jobs, args->captures.cnt);
    return status;
}

/* Transmits the requests of the captures to a live target as load (--load). Returns the exit
 * status. */
static int run_load(const struct replay_args *args)
{
#ifdef HAVE_LIVE
    const char **path = calloc(args->captures.cnt + 1, sizeof(*path));
    struct error error = {"no memory"};
    int rc = path ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < args->captures.cnt; i++)
        path[i] = args->captures.item[i].path;
    if (rc == 0)
        rc = load_gen_run(&args->live, path, args->captures.cnt, args->text, &error);
    free(path);
    return rc == 0 ? EXIT_HOLDS : cli_error("%s", error.text);
#else
    (void)args;
    return cli_error("--live is not supported by this build");
#endif
}

int cmd_replay(int argc, char **argv)
{
    struct replay_args args = {.loop = {.seed = 1, .repeat = 1}, .narrow = NARROW_NONE};
    int status = read_options(argc, argv, &args), rc;

    if (status >= 0)
        return status;
    args.loop.sides = args.sides;
    args.quiet |= outfile_is_stdout(args.json_path) || outfile_is_stdout(args.junit_path) ||
                  outfile_is_stdout(args.html_path);
    status = read_captures(argc - optind, argv + optind, &args);
    if (status == 0)
        status = outfile_open(args.json_path, &args.json);
    if (status == 0)
        status = outfile_open(args.junit_path, &args.junit);
    if (!args.quiet)
        args.text = colour_open(args.colour, true);
    if (status == 0)
        status = outfile_open(args.html_path, &args.html);
    if (status == 0)
        status = args.live.load ? run_load(&args) : run_replay(&args);
    colour_close(args.text);
    rc = outfile_close(args.json, args.json_path);
    if (outfile_close(args.html, args.html_path) != 0)
        rc = EXIT_UNUSABLE;
    if (outfile_close(args.junit, args.junit_path) != 0 || rc != 0)
        status = EXIT_UNUSABLE;
    capture_set_free(&args.captures);
    narrow_free(&args.narrow);
    return status;
}
