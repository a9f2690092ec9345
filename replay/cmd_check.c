/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cmd_check.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "capture/capture_reader.h"
#include "capture/narrow.h"
#include "check/connection_frames.h"
#include "check/explain.h"
#include "check_run.h"
#include "util/cli_opts.h"
#include "util/colour.h"
#include "util/outfile.h"
#include "util/sandbox.h"
#include "util/strbuf.h"

enum {
    OPT_RULES = CLI_LONG,
    OPT_EXPLAIN,
    OPT_JUNIT,
    OPT_ANNOTATE,
    OPT_HTML,
    OPT_TIMELINE,
    OPT_NO_ICRC,
    OPT_FAIL_ON,
    OPT_ORDERING,
    OPT_IMMEDIATE,
    OPT_NAME,
    OPT_EVENTS,
    OPT_CSV,
    OPT_PERFETTO,
    OPT_XPLOT,
    OPT_GNUPLOT,
    OPT_LIVE,
    OPT_EVERY,
    OPT_PROMETHEUS,
    OPT_OTHER_END,
    OPT_BASELINE
};

static const struct cli_option rows[] = {
    {"json", 'j', "FILE", "write findings, connections and a summary as JSON lines; - is stdout"},
    {"junit", OPT_JUNIT, "FILE", "write JUnit XML, one test case per connection; - is stdout"},
    {"annotate", OPT_ANNOTATE, "OUT",
     "write the capture as pcapng with the findings as packet comments"},
#ifdef HAVE_PAGE
    {"html", OPT_HTML, "OUT", "write a page with graphs, for a browser; - is stdout"},
    {"timeline", OPT_TIMELINE, "FILE",
     "with --html: show when the programs posted and polled; FILE is from rnic-run --timeline=FILE "
     "of the same run"},
#endif
    {"events", OPT_EVENTS, "FILE", "write each packet and event as a JSON line; - is stdout"},
    {"csv", OPT_CSV, "FOLDER", "write tables: connections.csv, operations.csv, findings.csv"},
    {"perfetto", OPT_PERFETTO, "FILE", "write a trace for ui.perfetto.dev; - is stdout"},
    {"gnuplot", OPT_GNUPLOT, "FOLDER", "write the PSN graph of each requester for gnuplot"},
    {"xplot", OPT_XPLOT, "FOLDER", "write the PSN graph of each requester for xplot"},
    {"live", OPT_LIVE, "IFACE",
     "check the packets of an interface until Ctrl-C; implies --every 1s"},
    {"every", OPT_EVERY, "TIME", "print a table of the QP pairs at this interval, e.g. 1s, 500ms"},
    {"prometheus", OPT_PROMETHEUS, "ADDR:PORT",
     "serve the counters of the table to Prometheus while check reads packets"},
    {"other-end", OPT_OTHER_END, "CAPTURE",
     "compare with a capture of the same traffic at another point, and report what was lost "
     "between the two points"},
    {"baseline", OPT_BASELINE, "CAPTURE",
     "compare rates and latencies with an earlier capture of the same traffic"},
    {"quirks", 'p', "NAME",
     "do not fail on known deviations of this implementation; auto (the default) detects the "
     "implementation, none fails on all deviations"},
    {"ordering", OPT_ORDERING, "HOW",
     "any: devices accept packets in any order; auto (the default): detect such devices"},
    {"fail-on", OPT_FAIL_ON, "WHAT",
     "results that also give exit status 1: error (the default: none), failed (a QP or connection "
     "failed or got stuck), slow (failed, or the report explains a slow connection), warn (failed, "
     "or a warning), note (failed, or any finding) or slower=PERCENT (compared with --baseline, "
     "the rate is lower by PERCENT or the median latency higher by PERCENT); repeat the option to "
     "combine slower with another word"},
    {"no-icrc", OPT_NO_ICRC, NULL, "do not compute ICRCs"},
    {"jobs", 'J', "N",
     "check N captures at a time, or judge the packets of one capture with N threads"},
    {"immediate", OPT_IMMEDIATE, NULL, "print errors immediately, on standard error"},
    {"name", OPT_NAME, "NAME", "name of standard input in reports"},
    NARROW_OPTIONS,
    {"verbose", 'v', NULL, "print all connections and findings instead of a summary"},
    {"quiet", 'q', NULL, "print neither progress nor text on standard output"},
    COLOUR_OPTION,
    SHARD_OPTION("captures"),
    SANDBOX_OPTION,
    {"rules", OPT_RULES, NULL, "list the rules and exit"},
    {"explain", OPT_EXPLAIN, "RULE",
     "explain a rule (RC-REQ-127, or 127) or a known deviation (D4) and exit"},
    {"help", 'h', NULL, "print this"},
};
static const struct cli_opts table = {"check", rows, sizeof(rows) / sizeof(rows[0])};

static const char *const fail_ons[FAIL_ON_CNT] = {"error", "failed", "slow", "warn", "note"};

static void print_usage(FILE *out)
{
    fprintf(out,
            "usage: rocedrill check [options] CAPTURE|FOLDER...   (- reads standard input)\n"
            "       rocedrill check [options] --live IFACE\n"
            "Checks the RoCE traffic of captures (pcap or pcapng, also compressed) against "
            "the rules of RoCEv2.\nFor a FOLDER, checks all captures in it, with the values "
            "of --quirks in its manifest.tsv.\nThe reports call the place where the packets were "
            "recorded the "
            "capture point: a packet that was\nlost before it is not in the capture.\noptions:\n");
    cli_print_options(out, &table);
    fprintf(out, "names for --quirks: auto none");
    for (int i = ROCE_PROFILE_NONE + 1; i < ROCE_PROFILE_CNT; i++)
        fprintf(out, " %s", roce_profile_name((enum roce_profile)i));
    fprintf(out, "\nexit status: 0 = no violation (a QP that failed without violating a rule also "
                 "gives 0; see --fail-on),\n  1 = a violation, 2 = unusable input or wrong use\n");
}

/* ---- reading the arguments ---------------------------------------------------------------------
 */

static int unknown_peer(const char *name)
{
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_addf(&t, " auto none");
    for (int i = ROCE_PROFILE_NONE + 1; i < ROCE_PROFILE_CNT; i++)
        strbuf_addf(&t, " %s", roce_profile_name((enum roce_profile)i));
    return cli_error("--quirks: unknown name '%s'; known are:%s", name, buf);
}

/* Reads the argument of --fail-on. Returns 0, or the exit status after an error. */
static int read_fail_on(const char *word, struct check_args *args)
{
    static const char slower[] = "slower=";
    char *end;

    if (strncmp(word, slower, strlen(slower)) == 0) {
        args->slower_percent = strtod(word + strlen(slower), &end);
        if (*end == '%')
            end++;
        if (*end || end == word + strlen(slower) || !(args->slower_percent > 0) ||
            args->slower_percent > 1000)
            return cli_error("check: --fail-on %s: not a percentage above 0", word);
        return 0;
    }
    for (args->fail_on = 0; args->fail_on < FAIL_ON_CNT; args->fail_on++)
        if (strcmp(word, fail_ons[args->fail_on]) == 0)
            return 0;
    return cli_error(
        "check: --fail-on %s: must be error, failed, slow, warn, note or slower=PERCENT", word);
}

/* Reads the options. Returns -1 if the command shall continue, otherwise the exit status. */
static int read_options(int argc, char **argv, struct check_args *args)
{
    int c;

    cli_begin(&table, argv);
    while ((c = cli_next(&table, argc, argv)) != -1) {
        switch (c) {
        case 'j': args->json_path = optarg; break;
        case OPT_JUNIT: args->junit_path = optarg; break;
        case OPT_HTML: args->html_path = optarg; break;
        case OPT_TIMELINE: args->timeline_path = optarg; break;
        case OPT_ANNOTATE: args->annotate_path = optarg; break;
        case 'p':
            args->profile =
                strcmp(optarg, "auto") == 0 ? ROCE_PROFILE_AUTO : roce_profile_find(optarg);
            if (args->profile == ROCE_PROFILE_CNT)
                return unknown_peer(optarg);
            break;
        case OPT_ORDERING:
            args->any_order = strcmp(optarg, "any") == 0;
            if (!args->any_order && strcmp(optarg, "auto") != 0)
                return cli_error("--ordering: unknown word '%s'; known are: auto any", optarg);
            break;
        case OPT_FAIL_ON:
            if (read_fail_on(optarg, args) != 0)
                return EXIT_UNUSABLE;
            break;
        case OPT_EVENTS: args->paths.events = optarg; break;
        case OPT_CSV: args->paths.csv = optarg; break;
        case OPT_PERFETTO: args->paths.perfetto = optarg; break;
        case OPT_XPLOT: args->paths.xplot = optarg; break;
        case OPT_GNUPLOT: args->paths.gnuplot = optarg; break;
        case OPT_LIVE: args->monitor.interface = optarg; break;
        case OPT_EVERY:
            if (!session_interval(optarg, &args->monitor.interval))
                return cli_error("check: --every %s: not a time such as 1s or 500ms", optarg);
            break;
        case OPT_PROMETHEUS: args->monitor.prometheus = optarg; break;
        case OPT_NO_ICRC: args->no_icrc = true; break;
        case OPT_OTHER_END: args->other_end = optarg; break;
        case OPT_BASELINE: args->baseline_path = optarg; break;
        case 'J':
            if (cli_jobs(table.command, optarg, &args->jobs) != 0)
                return EXIT_UNUSABLE;
            break;
        case SHARD_KEY:
            if (shard_option(&args->shard, table.command, optarg) != 0)
                return EXIT_UNUSABLE;
            break;
        case OPT_IMMEDIATE: args->immediate = true; break;
        case OPT_NAME: args->stdin_name = optarg; break;
        case 'v': args->verbose = true; break;
        case 'q': args->quiet = true; break;
        case COLOUR_KEY:
            if (colour_option(table.command, optarg, &args->colour) != 0)
                return EXIT_UNUSABLE;
            break;
        case SANDBOX_KEY: args->no_sandbox = true; break;
        case OPT_RULES: explain_list_rules(stdout); return EXIT_HOLDS;
        case OPT_EXPLAIN:
            if (explain_rule(stdout, optarg) != 0)
                return cli_error("unknown rule '%s' (rocedrill check --rules lists them)", optarg);
            return EXIT_HOLDS;
        case 'h': print_usage(stdout); return EXIT_HOLDS;
        case CLI_BAD: return EXIT_UNUSABLE;
        default:
            if (narrow_option(&args->narrow, table.command, c, optarg) != 0)
                return EXIT_UNUSABLE;
        }
    }
    return -1;
}

/* Checks that no output file is also an input capture or another output. Returns 0, or the exit
 * status after an error. */
static int check_outputs(const struct check_args *args)
{
    const char *const out[] = {args->json_path, args->junit_path,   args->annotate_path,
                               args->html_path, args->paths.events, args->paths.perfetto};
    const unsigned outs = sizeof(out) / sizeof(out[0]);

    if (capture_set_is_no_output(&args->captures, out, outs) != 0)
        return EXIT_UNUSABLE;
    return outfiles_differ(table.command, out, outs);
}

/* Collects the captures that the arguments name, and checks that the options can be combined.
 * Returns 0, or the exit status after an error. */
static int read_captures(int cnt, char **files, struct check_args *args)
{
    unsigned stdins = 0;
    struct error error;
    const char *other;

    if (args->monitor.interface && (cnt > 0 || args->annotate_path || args->html_path))
        return cli_error("check: --live and %s cannot be combined", cnt > 0 ? "a capture"
                                                                    : args->annotate_path
                                                                        ? "--annotate"
                                                                        : "--html");
    if (cnt == 0 && !args->monitor.interface)
        return cli_error("check: no capture given (see --help)");
    if (args->timeline_path && !args->html_path)
        return cli_error("check: --timeline requires --html");
    if (args->timeline_path && work_times_read(&args->timeline, args->timeline_path, &error) != 0)
        return cli_error("%s", error.text);
    for (int i = 0; i < cnt; i++) {
        stdins += strcmp(files[i], "-") == 0;
        if (capture_set_add(&args->captures, files[i], &error) != 0)
            return cli_error("%s", error.text);
    }
    if (stdins > 1)
        return cli_error("check: standard input can be read only once");
    if (args->annotate_path && args->captures.cnt > 1)
        return cli_error("check: --annotate requires one capture, not %zu", args->captures.cnt);
    if ((args->paths.xplot || args->paths.gnuplot) && args->captures.cnt > 1)
        return cli_error("check: --%s requires one capture, not %zu",
                         args->paths.xplot ? "xplot" : "gnuplot", args->captures.cnt);
    if ((args->monitor.interval || args->monitor.prometheus) && args->captures.cnt > 1)
        return cli_error("check: --%s requires one capture, not %zu",
                         args->monitor.interval ? "every" : "prometheus", args->captures.cnt);
    if (args->other_end && (args->monitor.interface || args->captures.cnt != 1))
        return cli_error("check: --other-end requires one capture%s",
                         args->monitor.interface ? ", not --live" : "");
    if (args->other_end && strcmp(args->other_end, "-") == 0)
        return cli_error("check: --other-end requires a file, not standard input");
    if (args->baseline_path && (args->monitor.interface || args->captures.cnt != 1))
        return cli_error("check: --baseline requires one capture%s",
                         args->monitor.interface ? ", not --live" : "");
    if (args->baseline_path && args->narrow.has_connection)
        return cli_error("check: --baseline and --connection cannot be combined");
    if (args->baseline_path && strcmp(args->baseline_path, "-") == 0 && stdins)
        return cli_error("check: standard input can be read only once");
    if (args->slower_percent > 0 && !args->baseline_path)
        return cli_error("check: --fail-on slower requires --baseline");
    if (args->narrow.has_connection && args->monitor.interface)
        return cli_error("check: --live and --connection cannot be combined");
    if (args->narrow.has_connection && args->captures.cnt > 1)
        return cli_error("check: --connection requires one capture, not %zu", args->captures.cnt);
    if (!args->monitor.interface &&
        connection_frames(args->captures.item[0].path, &args->narrow, args->no_icrc, &error) != 0)
        return cli_error("%s", error.text);
    other = args->html_path           ? "html"
            : args->monitor.interface ? "live"
            : args->other_end         ? "other-end"
            : args->baseline_path     ? "baseline"
                                      : NULL;
    if (args->shard.count && other)
        return cli_error("check: --shard and --%s cannot be combined", other);
    if (capture_set_shard(&args->captures, &args->shard, &error) != 0)
        return cli_error("check: %s", error.text);
    return check_outputs(args);
}

int cmd_check(int argc, char **argv)
{
    struct check_args args = {.profile = ROCE_PROFILE_AUTO, .narrow = NARROW_NONE};
    int status = read_options(argc, argv, &args);

    if (status >= 0)
        return status;
    if (!args.no_sandbox)
        (void)sandbox_enter("check", args.monitor.interface || args.monitor.prometheus);
    status = read_captures(argc - optind, argv + optind, &args);
    if (status == 0)
        status = check_run(&args);
    work_times_free(&args.timeline);
    narrow_free(&args.narrow);
    capture_set_free(&args.captures);
    return status;
}
