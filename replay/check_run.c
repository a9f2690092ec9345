/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check_run.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "check/check.h"
#include "check/check_json.h"
#include "check/check_junit.h"
#include "check/check_text.h"
#include "check/two_points.h"
#include "util/cli_opts.h"
#include "util/outfile.h"

/* Maximum number of connections that a report keeps, with 5 kB each: SHORT for the summary, LONG
 * for -v and JUnit. */
#define CONNS_SHORT 64u
#define CONNS_LONG  4096u

#define WATCHES_MAX                                                                                \
    (EXPORT_WATCHES + 3) /* those of the exports, the monitor, the other end and the page */

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

int check_run(struct check_args *args)
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
