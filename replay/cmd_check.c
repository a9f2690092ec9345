/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cmd_check.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "check/check.h"
#include "check/check_json.h"
#include "check/check_junit.h"
#include "check/check_text.h"
#include "check/connection_frames.h"
#include "check/explain.h"
#include "check/two_points.h"
#include "export/export.h"
#include "monitor/session.h"
#include "page/page.h"
#include "util/cli_opts.h"
#include "util/colour.h"
#include "util/outfile.h"
#include "util/shard.h"
#include "util/sandbox.h"
#include "capture/capture_reader.h"
#include "capture/narrow.h"
#include "suite/capture_set.h"
#include "util/strbuf.h"

/* Maximum number of connections that a report keeps, with 5 kB each: SHORT for the summary, LONG
 * for -v and JUnit. */
#define CONNS_SHORT 64u
#define CONNS_LONG  4096u

#define WATCHES_MAX                                                                                \
    (EXPORT_WATCHES + 3) /* those of the exports, the monitor, the other end and the page */

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
    OPT_EVENTS,
    OPT_CSV,
    OPT_PERFETTO,
    OPT_XPLOT,
    OPT_GNUPLOT,
    OPT_LIVE,
    OPT_EVERY,
    OPT_PROMETHEUS,
    OPT_OTHER_END
};

static const struct cli_option rows[] = {
    {"json", 'j', "FILE", "write findings, connections and a summary as JSON lines; - is stdout"},
    {"junit", OPT_JUNIT, "FILE", "write JUnit XML, one test case per connection; - is stdout"},
    {"annotate", OPT_ANNOTATE, "OUT",
     "write the capture as pcapng with the findings as packet comments"},
#ifdef HAVE_PAGE
    {"html", OPT_HTML, "OUT", "write a page with graphs, for a browser; - is stdout"},
    {"timeline", OPT_TIMELINE, "FILE",
     "html: show when the programs posted and polled, from rnic-run --timeline=FILE of the same "
     "run"},
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
     "serve the counters of the table to Prometheus while reading"},
    {"other-end", OPT_OTHER_END, "CAPTURE",
     "compare with a capture of the same traffic at another point: what was lost between them"},
    {"quirks", 'p', "NAME",
     "do not fail on known deviations of this implementation; auto (the default) recognises it, "
     "none fails on all"},
    {"ordering", OPT_ORDERING, "HOW",
     "any: devices accept packets in any order; auto (the default) finds out if they do"},
    {"fail-on", OPT_FAIL_ON, "WHAT",
     "exit with 1 also for: failed (a QP or connection), warn, note"},
    {"no-icrc", OPT_NO_ICRC, NULL, "do not compute ICRCs"},
    {"jobs", 'J', "N",
     "judge the packets with N threads; for idle processors and many pairs of hosts"},
    {"immediate", OPT_IMMEDIATE, NULL, "print errors immediately, on standard error"},
    NARROW_OPTIONS,
    {"verbose", 'v', NULL, "print all connections and findings, not a summary"},
    {"quiet", 'q', NULL, "do not print text on standard output or progress"},
    COLOUR_OPTION,
    SHARD_OPTION("captures"),
    SANDBOX_OPTION,
    {"rules", OPT_RULES, NULL, "list the rules and exit"},
    {"explain", OPT_EXPLAIN, "RULE",
     "explain a rule (RC-REQ-127, or 127) or a known deviation (D4) and exit"},
    {"help", 'h', NULL, "print this"},
};
static const struct cli_opts table = {"check", rows, sizeof(rows) / sizeof(rows[0])};

/* Lowest result that causes exit status 1. Each value includes the values before it. */
enum fail_on { FAIL_ON_ERROR, FAIL_ON_FAILED, FAIL_ON_WARN, FAIL_ON_NOTE, FAIL_ON_CNT };

static const char *const fail_ons[FAIL_ON_CNT] = {"error", "failed", "warn", "note"};

struct check_args {
    bool verbose, quiet, no_icrc, immediate, no_sandbox;
    FILE *text; /* stream of the report; NULL: no report */
    enum colour_mode colour;
    bool summed_up; /* print totals after several captures */
    bool any_order;
    enum roce_profile profile;
    enum fail_on fail_on;
    unsigned jobs; /* number of threads; 0: number of processors */
    const char *json_path, *junit_path, *annotate_path, *html_path, *timeline_path;
    FILE *json, *junit, *html;
    struct page page;
    struct work_times timeline;
    struct export_paths paths;
    struct export *export; /* outputs for other tools; NULL if no path in `paths` is set */
    struct capture_set captures;
    struct shard shard;
    struct narrow narrow;
    struct session_options monitor;
    const char *other_end;         /* capture at the other end, or NULL */
    struct two_points *two_points; /* comparison with the other end; NULL without other_end */
    struct session *session;       /* monitor; NULL without an option of the monitor */
};

static void print_usage(FILE *out)
{
    fprintf(out, "usage: rocedrill check [options] CAPTURE|FOLDER...   (- reads standard input)\n"
                 "       rocedrill check [options] --live IFACE\n"
                 "Checks the RoCE traffic of captures (pcap or pcapng, also compressed) against "
                 "the rules of RoCEv2.\nFor a FOLDER, checks all captures in it, with the values "
                 "of --quirks in its manifest.tsv.\noptions:\n");
    cli_print_options(out, &table);
    fprintf(out, "names for --quirks: auto none");
    for (int i = ROCE_PROFILE_NONE + 1; i < ROCE_PROFILE_CNT; i++)
        fprintf(out, " %s", roce_profile_name((enum roce_profile)i));
    fprintf(out, "\nexit status: 0 = no violation (a QP that failed without violating a rule also "
                 "gives 0; see --fail-on),\n  1 = a violation, 2 = unusable input or wrong use\n");
}

/* ---- captures ----------------------------------------------------------------------------------
 */

static bool report_fails(const struct check_report *report, enum fail_on fail_on)
{
    const uint64_t *findings = report->totals.findings;

    if (check_report_verdict(report) == CHECK_VIOLATED)
        return true;
    return (fail_on >= FAIL_ON_FAILED && report->failed > 0) ||
           (fail_on >= FAIL_ON_WARN && findings[ROCE_SEV_WARN] > 0) ||
           (fail_on >= FAIL_ON_NOTE && findings[ROCE_SEV_NOTE] > 0);
}

/* Returns the name of a capture in messages. */
static const char *name_capture(const char *path, const struct check_args *args)
{
    if (args->monitor.interface)
        return args->monitor.interface;
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static unsigned add_watches(const struct check_args *args, struct check_watch watch[WATCHES_MAX])
{
    unsigned cnt = args->export ? export_watches(args->export, watch) : 0;

    if (args->session)
        watch[cnt++] = session_watch(args->session);
    if (args->two_points)
        watch[cnt++] = two_points_watch(args->two_points, 0);
    return cnt;
}

/* Adds a capture to the page. Returns 0, or -1 and an error. */
static int add_to_page(struct check_args *args, const struct page_capture *capture,
                       const struct check_report *report, int status, struct error *error)
{
    const struct page_selection all = {.conn = NULL};

    if (page_add(&args->page, capture, report, status, &all) != 0)
        return error_set(error, "%s: no memory for the page", report->name);
    return 0;
}

/* Returns the profile that the user named, or else that of the folder's manifest. */
static enum roce_profile profile_of(const struct capture_item *item, const struct check_args *args)
{
    enum roce_profile named = item->peer ? roce_profile_find(item->peer) : ROCE_PROFILE_CNT;

    return args->profile != ROCE_PROFILE_AUTO || named == ROCE_PROFILE_CNT ? args->profile : named;
}

/* Writes the line that rocedrill merge needs, with the text and the JUnit of the capture. */
static void put_part(struct check_args *args, const struct capture_item *item,
                     const struct check_report *report, int status, const char *fault)
{
    struct check_part part = {
        .file = report->name, .position = item->position, .status = status, .error = fault};
    char *text = NULL, *junit = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out && report->frames > 0)
        check_text(out, report, args->verbose);
    if (out)
        fclose(out);
    out = open_memstream(&junit, &len);
    if (out) {
        check_junit_add(out, report);
        fclose(out);
    }
    part.text = text;
    part.junit = junit;
    (void)check_json_part(args->json, &part);
    free(text);
    free(junit);
}

static int check_one(const struct capture_item *item, struct check_args *args, bool *stop)
{
    enum roce_profile profile = profile_of(item, args);
    const char *path = item->path;
    bool part = args->shard.count && args->json, text = args->text || part;
    const char *name = name_capture(path, args);
    struct page_capture *capture = args->html ? page_capture_new(name) : NULL;
    struct check_watch watch[WATCHES_MAX];
    unsigned watch_cnt = add_watches(args, watch);
    const struct check_options options = {
        .keep_findings = text && args->verbose,
        .keep_history = text,
        .conn_max = args->junit || part || (text && args->verbose) ? CONNS_LONG
                    : text || capture                              ? CONNS_SHORT
                                                                   : 0,
        .no_icrc = args->no_icrc,
        .progress = !args->quiet && !args->immediate && !args->session,
        .immediate = args->immediate,
        .profile = profile,
        .any_order = args->any_order,
        .narrow = &args->narrow,
        .json = args->json,
        .json_all = args->verbose,
        .annotate_to = args->annotate_path,
        .watch = watch,
        .watch_cnt = watch_cnt + (capture ? 1 : 0),
        .name = args->monitor.interface,
        .threads = args->jobs,
        .mem_max = args->session ? SESSION_MEM_MAX : 0,
    };
    struct error error = {""};
    struct check_report report;
    int rc, status;

    if (capture) {
        watch[watch_cnt] = page_capture_watch(capture);
        capture->timeline = args->timeline_path ? &args->timeline : NULL;
    }
    if (args->export)
        export_begin(args->export, name);
    rc = check_capture(path, &options, &report, &error);
    status = rc != 0                                ? EXIT_UNUSABLE
             : report_fails(&report, args->fail_on) ? EXIT_DIFFERS
                                                    : EXIT_HOLDS;
    if (report.name) {
        if (args->text && report.frames > 0)
            check_text(args->text, &report, args->verbose);
        if (args->junit)
            check_junit_add(args->junit, &report);
    } else {
        report.name = name;
        report.error = error.text;
        if (args->junit)
            check_junit_fault(args->junit, report.name, error.text);
    }
    if (args->export)
        export_end(args->export, &report);
    if (args->json && check_json_summary(args->json, &report, status) != 0 && rc == 0)
        rc = error_set(&error, "%s: cannot write the JSON", args->json_path);
    if (part)
        put_part(args, item, &report, rc != 0 ? EXIT_UNUSABLE : status,
                 rc != 0 ? error.text : NULL);
    if (capture && report.frames > 0 && add_to_page(args, capture, &report, status, &error) != 0)
        rc = -1;
    *stop = report.interrupted;
    page_capture_del(capture);
    check_report_free(&report);
    if (rc != 0 && !outfile_failed(args->json) && !outfile_failed(args->html) &&
        !(outfile_is_stdout(args->annotate_path) && outfile_failed(stdout)))
        cli_error("%s", error.text);
    return rc != 0 ? EXIT_UNUSABLE : status;
}

/* ---- arguments ---------------------------------------------------------------------------------
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

/* Reads the options. Returns -1 to continue, else the exit status. */
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
            for (args->fail_on = 0; args->fail_on < FAIL_ON_CNT; args->fail_on++)
                if (strcmp(optarg, fail_ons[args->fail_on]) == 0)
                    break;
            if (args->fail_on == FAIL_ON_CNT)
                return cli_error("check: --fail-on %s: not error, failed, warn or note", optarg);
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
        case 'J':
            args->jobs = cli_jobs(optarg);
            if (!args->jobs)
                return cli_error("check: --jobs %s: not a number from 1 to %u", optarg,
                                 CLI_JOBS_MAX);
            break;
        case SHARD_KEY:
            if (shard_option(&args->shard, table.command, optarg) != 0)
                return EXIT_UNUSABLE;
            break;
        case OPT_IMMEDIATE: args->immediate = true; break;
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

/* Checks that no output is a capture or another output. Returns 0, or the exit status after an
 * error. */
static int check_outputs(const struct check_args *args)
{
    const char *const out[] = {args->json_path, args->junit_path,   args->annotate_path,
                               args->html_path, args->paths.events, args->paths.perfetto};
    const unsigned outs = sizeof(out) / sizeof(out[0]);

    for (unsigned i = 0; i < outs; i++)
        for (size_t j = 0; j < args->captures.cnt; j++)
            if (outfile_is_no_input(out[i], args->captures.item[j].path) != 0)
                return EXIT_UNUSABLE;
    return outfiles_differ(table.command, out, outs);
}

/* Adds the captures, and checks that the arguments can be combined. Returns 0, or the exit status
 * after an error. */
static int read_captures(int cnt, char **files, struct check_args *args)
{
    unsigned stdins = 0;
    struct error error;

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
    if (args->narrow.has_connection && args->monitor.interface)
        return cli_error("check: --live and --connection cannot be combined");
    if (args->narrow.has_connection && args->captures.cnt > 1)
        return cli_error("check: --connection requires one capture, not %zu", args->captures.cnt);
    if (!args->monitor.interface &&
        connection_frames(args->captures.item[0].path, &args->narrow, &error) != 0)
        return cli_error("%s", error.text);
    if (args->shard.count && (args->monitor.interface || args->html_path))
        return cli_error("check: --shard and --%s cannot be combined",
                         args->html_path ? "html" : "live");
    if (capture_set_shard(&args->captures, &args->shard, &error) != 0)
        return cli_error("check: %s", error.text);
    return check_outputs(args);
}

static bool has_export(const struct export_paths *paths)
{
    return paths->events || paths->csv || paths->perfetto || paths->xplot || paths->gnuplot;
}

/* Opens the outputs. Returns 0, or the exit status after an error. */
static int open_check_outputs(struct check_args *args)
{
    struct error error;
    int rc;

    if ((rc = outfile_open(args->json_path, &args->json)) != 0 ||
        (rc = outfile_open(args->junit_path, &args->junit)) != 0 ||
        (rc = outfile_open(args->html_path, &args->html)) != 0)
        return rc;
    if (has_export(&args->paths) && !(args->export = export_open(&args->paths, &error)))
        return cli_error("%s", error.text);
    return 0;
}

/* Closes the outputs. Returns 0, or the exit status after an error. */
static int close_check_outputs(struct check_args *args)
{
    struct error error;
    int rc = 0;

    if (export_close(args->export, &error) != 0 && !outfile_failed(stdout))
        rc = cli_error("%s", error.text);
    if (outfile_close(args->json, args->json_path) != 0)
        rc = EXIT_UNUSABLE;
    if (outfile_close(args->html, args->html_path) != 0)
        rc = EXIT_UNUSABLE;
    return outfile_close(args->junit, args->junit_path) != 0 ? EXIT_UNUSABLE : rc;
}

/* Starts the monitor if an option asks for it. Returns 0, or the exit status after an error. */
static int start_session(struct check_args *args)
{
    struct session_options *options = &args->monitor;
    struct error error;

    if (!options->interface && !options->interval && !options->prometheus)
        return 0;
    if (options->interface && !options->interval)
        (void)session_interval("1s", &options->interval);
    options->table = args->text ? stdout : NULL;
    args->session = session_start(options, &error);
    return args->session ? 0 : cli_error("%s", error.text);
}

/* Checks the packets of an interface. Returns the exit status. */
static int check_live(struct check_args *args)
{
    bool stop;

    struct capture_item item = {.path = session_source(args->session)};

    return check_one(&item, args, &stop);
}

/* Reads the capture of the other end and prints the comparison. Returns the exit status of the
 * other capture. */
static int check_other_end(struct check_args *args)
{
    const char *const name[2] = {args->captures.item[0].path, args->other_end};
    const struct check_watch watch = two_points_watch(args->two_points, 1);
    const struct check_options options = {.no_icrc = args->no_icrc,
                                          .profile = args->profile,
                                          .any_order = args->any_order,
                                          .narrow = &args->narrow,
                                          .watch = &watch,
                                          .watch_cnt = 1};
    struct error error = {""};
    struct check_report report;
    int status = EXIT_HOLDS;

    if (check_capture(args->other_end, &options, &report, &error) != 0 ||
        ((args->text || args->json) && two_points_compare(args->two_points, name, &error) != 0)) {
        status = cli_error("%s", error.text);
        check_report_free(&report);
        return status;
    }
    if (args->text)
        two_points_print(args->text, args->two_points, name);
    if (args->json && two_points_json(args->json, args->two_points, name) != 0)
        status = cli_error("%s: cannot write the JSON", args->json_path);
    else if (report_fails(&report, args->fail_on))
        status = EXIT_DIFFERS;
    check_report_free(&report);
    return status;
}

static int run_check(struct check_args *args)
{
    size_t cnt = args->captures.cnt;
    int status = EXIT_HOLDS, rc;
    size_t cnts[EXIT_UNUSABLE + 1] = {0};
    bool stop = false;

    rc = open_check_outputs(args);
    if (rc != 0)
        status = rc;
    if (!args->quiet && args->json != stdout && args->junit != stdout && args->html != stdout &&
        !outfile_is_stdout(args->annotate_path) && !outfile_is_stdout(args->paths.events) &&
        !outfile_is_stdout(args->paths.perfetto))
        args->text = colour_open(args->colour);
    if (rc == 0 && args->json && args->shard.count)
        (void)check_json_shard(args->json, &args->shard);
    args->summed_up = args->text && cnt > 1;
    if (rc == 0 && (rc = start_session(args)) != 0)
        status = rc;
    if (rc == 0 && args->other_end && !(args->two_points = two_points_new()))
        rc = status = cli_error("check: no memory");
    if (args->junit && status == EXIT_HOLDS)
        check_junit_begin(args->junit);
    if (args->html && status == EXIT_HOLDS)
        page_begin(&args->page, args->html, args->captures.item[0].path);
    if (rc == 0 && args->monitor.interface)
        status = check_live(args);
    for (size_t i = 0; i < cnt && rc == 0 && !stop; i++) {
        int one = check_one(&args->captures.item[i], args, &stop);

        cnts[one]++;
        if (one > status)
            status = one;
        if (args->text && one != EXIT_UNUSABLE && i + 1 < cnt && !stop)
            fprintf(args->text, "\n");
    }
    if (args->two_points && rc == 0 && status != EXIT_UNUSABLE) {
        int one = check_other_end(args);

        if (one > status)
            status = one;
    }
    if (args->summed_up && rc == 0)
        check_text_sum(args->text, cnts, cnt);
    if (args->junit && rc == 0)
        check_junit_end(args->junit);
    if (args->html && rc == 0)
        page_end(&args->page);
    two_points_del(args->two_points);
    session_stop(args->session);
    colour_close(args->text);
    return close_check_outputs(args) != 0 ? EXIT_UNUSABLE : status;
}

int cmd_check(int argc, char **argv)
{
    struct check_args args = {.profile = ROCE_PROFILE_AUTO, .narrow = NARROW_NONE};
    int status = read_options(argc, argv, &args);

    if (status >= 0)
        return status;
    if (!args.no_sandbox)
        (void)sandbox_enter(args.monitor.interface || args.monitor.prometheus);
    status = read_captures(argc - optind, argv + optind, &args);
    if (status == 0)
        status = run_check(&args);
    work_times_free(&args.timeline);
    narrow_free(&args.narrow);
    capture_set_free(&args.captures);
    return status;
}
