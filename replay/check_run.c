/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check_run.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "check/baseline.h"
#include "check/check.h"
#include "check/check_json.h"
#include "check/check_junit.h"
#include "check/check_text.h"
#include "check/points/two_points.h"
#include "util/cli_opts.h"
#include "util/file_queue.h"
#include "util/outfile.h"
#include "util/sigint.h"
#include "util/xml_escape.h"

/* Maximum number of connections that a report keeps; each connection needs 5 kB. CONNS_SHORT is for
 * the summary and the page, CONNS_LONG for -v, JUnit and shards. */
#define CONNS_SHORT 64u
#define CONNS_LONG  4096u

#define WATCHES_MAX                                                                                \
    (EXPORT_WATCHES + 4) /* maximum number of struct check_watch: those of the exports, and one    \
                          * each for the monitor, --other-end, --baseline and the page */

/* Outputs to which the result of each capture is appended, in the order of the captures. */
enum { TO_TEXT, TO_JSON, TO_JUNIT, TO_CNT };

/* ---- checking a capture ------------------------------------------------------------------------
 */

static bool report_fails(const struct check_report *report, enum fail_on fail_on)
{
    const uint64_t *findings = report->totals.findings;

    if (check_report_verdict(report) == CHECK_VIOLATED)
        return true;
    return (fail_on >= FAIL_ON_FAILED && report->failed + report->stuck > 0) ||
           (fail_on == FAIL_ON_SLOW && report->slow > 0) ||
           (fail_on >= FAIL_ON_WARN && findings[ROCE_SEV_WARN] > 0) ||
           (fail_on >= FAIL_ON_NOTE && findings[ROCE_SEV_NOTE] > 0);
}

/* Returns the name that messages use for a capture. */
static const char *name_capture(const char *path, const struct check_args *args)
{
    if (args->monitor.interface)
        return args->monitor.interface;
    if (strcmp(path, "-") == 0)
        return args->stdin_name ? args->stdin_name : "standard input";
    return path;
}

static unsigned add_watches(const struct check_args *args, struct check_watch watch[WATCHES_MAX])
{
    unsigned cnt = args->export ? export_watches(args->export, watch) : 0;

    if (args->session)
        watch[cnt++] = session_watch(args->session);
    if (args->two_points)
        watch[cnt++] = two_points_watch(args->two_points, 0);
    if (args->baseline)
        watch[cnt++] = baseline_watch(args->baseline, BASELINE_NEW);
    return cnt;
}

/* Checks the capture of --other-end or --baseline, with which the first capture is compared.
 * Returns the result of check_capture(). */
static int check_second(const struct check_args *args, const char *path,
                        const struct check_watch *watch, struct check_report *report,
                        struct error *error)
{
    const struct check_options options = {.no_icrc = args->no_icrc,
                                          .profile = args->profile,
                                          .any_order = args->any_order,
                                          .narrow = &args->narrow,
                                          .watch = watch,
                                          .watch_cnt = 1};

    return check_capture(path, &options, report, error);
}

/* Checks the capture of --other-end and compares it with the first capture. Sets args->compared to
 * true if both succeeded. Sets args->other_status to the exit status for the capture of
 * --other-end. */
static void check_other_end(struct check_args *args)
{
    const char *const name[2] = {args->captures.item[0].path, args->other_end};
    const struct check_watch watch = two_points_watch(args->two_points, 1);
    struct error error = {""};
    struct check_report report;
    int rc = check_second(args, args->other_end, &watch, &report, &error);

    two_points_ran(args->two_points, 1, report.counts.first_time, report.counts.last_time);
    if (rc == 0 && (args->text || args->json || args->html))
        rc = two_points_compare(args->two_points, name, &error);
    args->compared = rc == 0;
    if (rc != 0)
        args->other_status = cli_error("%s", error.text);
    else
        args->other_status = report_fails(&report, args->fail_on) ? EXIT_DIFFERS : EXIT_HOLDS;
    check_report_free(&report);
}

/* Prints the comparison with the capture of --other-end. Returns the exit status for the capture of
 * --other-end. */
static int print_other_end(const struct check_args *args)
{
    const char *const name[2] = {args->captures.item[0].path, args->other_end};

    if (!args->compared)
        return args->other_status;
    if (args->text)
        two_points_print(args->text, args->two_points, name);
    if (args->json && two_points_json(args->json, args->two_points, name) != 0)
        return cli_error("%s: cannot write the JSON", args->json_path);
    return args->other_status;
}

/* Adds a capture to the page. Returns 0, or -1 and an error. */
static int add_to_page(struct check_args *args, const struct page_capture *capture,
                       const struct check_report *report, int status, struct error *error)
{
    const struct page_selection all = {.conn = NULL};

    if (page_add(&args->page, capture, report, status, &all) != 0)
        return error_set(error, "%s: out of memory while writing the HTML page", report->name);
    return 0;
}

/* Adds the comparison with the capture of --other-end to the page, before the first capture of the
 * page. Returns 0, or -1 and an error. */
static int put_comparison(const struct check_args *args, struct error *error)
{
    const char *const name[2] = {args->captures.item[0].path, args->other_end};
    FILE *page = args->page.out, *text;
    char *words = NULL;
    size_t len;

    text = open_memstream(&words, &len);
    if (text)
        two_points_print(text, args->two_points, name);
    if (!text || fclose(text) != 0) {
        free(words);
        return error_set(error, "%s: out of memory while writing the HTML page", name[0]);
    }
    fprintf(page, "<section aria-labelledby=\"comparison-title\">\n"
                  "<h2 id=\"comparison-title\">The two captures</h2>\n"
                  "<p class=\"hint\">The graphs of this page show capture a alone.</p>\n"
                  "<pre>");
    xml_escape(page, words + strspn(words, "\n"));
    fprintf(page, "</pre>\n</section>\n");
    free(words);
    return 0;
}

/* Returns the profile of known deviations for a capture: the profile of --quirks if the user gave
 * one, otherwise the profile in the folder's manifest.tsv. */
static enum roce_profile profile_of(const struct capture_item *item, const struct check_args *args)
{
    enum roce_profile named = item->peer ? roce_profile_find(item->peer) : ROCE_PROFILE_CNT;

    return args->profile != ROCE_PROFILE_AUTO || named == ROCE_PROFILE_CNT ? args->profile : named;
}

/* Writes the JSON line of type "part" that rocedrill merge needs. The line contains the text report
 * and the JUnit report of the capture. */
static void put_part(const struct check_args *args, FILE *json, const struct capture_item *item,
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
        check_junit_add(out, report, args->fail_on);
        fclose(out);
    }
    part.text = text;
    part.junit = junit;
    (void)check_json_part(json, &part);
    free(text);
    free(junit);
}

/* The check of one capture. */
struct capture_check {
    const struct capture_item *item;
    FILE *to[TO_CNT]; /* streams of the outputs; NULL: no such output */
    unsigned threads; /* number of threads; 0: check_capture() chooses the number */
    bool in_parallel; /* other captures are checked at the same time */
    size_t mem_max;   /* memory limit of rnic/flow, bytes; 0: the default of rnic/flow */
    bool at_mem_max;  /* the analysis reached the memory limit */
    int status;
    struct error error; /* message; "": none */
    bool interrupted;
};

/* Checks a capture and sets the results. */
static void check_one(struct capture_check *one, struct check_args *args)
{
    enum roce_profile profile = profile_of(one->item, args);
    FILE *to_text = one->to[TO_TEXT], *to_json = one->to[TO_JSON], *to_junit = one->to[TO_JUNIT];
    const char *path = one->item->path;
    bool part = args->shard.count && to_json, text = to_text || part;
    const char *name = name_capture(path, args);
    struct page_capture *capture = args->html ? page_capture_new(name) : NULL;
    struct check_watch watch[WATCHES_MAX];
    unsigned watch_cnt = add_watches(args, watch);
    const struct check_options options = {
        .keep_findings = text && args->verbose,
        .keep_history = text,
        .conn_max = to_junit || part || (text && args->verbose) ? CONNS_LONG
                    : text || capture                           ? CONNS_SHORT
                                                                : 0,
        .no_icrc = args->no_icrc,
        .progress = !args->quiet && !args->immediate && !args->session && !one->in_parallel,
        .immediate = args->immediate,
        .profile = profile,
        .any_order = args->any_order,
        .narrow = &args->narrow,
        .json = to_json,
        .json_later = args->two_points != NULL,
        .json_all = args->verbose,
        .annotate_to = args->annotate_path,
        .watch = watch,
        .watch_cnt = watch_cnt + (capture ? 1 : 0),
        .name = name,
        .threads = one->threads,
        .mem_max = args->session ? SESSION_MEM_MAX : one->mem_max,
        .sigint_caught = one->in_parallel,
    };
    struct error error = {""};
    struct check_report report;
    int rc, status;

    if (capture) {
        watch[watch_cnt] = page_capture_watch(capture);
        capture->threads = one->threads;
        capture->timeline = args->timeline_path ? &args->timeline : NULL;
    }
    if (args->export)
        export_begin(args->export, name);
    rc = check_capture(path, &options, &report, &error);
    status = rc != 0                                ? EXIT_UNUSABLE
             : report_fails(&report, args->fail_on) ? EXIT_DIFFERS
                                                    : EXIT_HOLDS;
    if (args->two_points) {
        two_points_ran(args->two_points, 0, report.counts.first_time, report.counts.last_time);
        if (status != EXIT_UNUSABLE)
            check_other_end(args);
        report.points = args->compared ? args->two_points : NULL;
    }
    if (report.name) {
        if (to_text && report.frames > 0)
            check_text(to_text, &report, args->verbose);
        if (to_junit)
            check_junit_add(to_junit, &report, args->fail_on);
    } else {
        report.name = name;
        report.error = error.text;
        if (to_junit)
            check_junit_fault(to_junit, report.name, error.text);
    }
    if (args->export)
        export_end(args->export, &report);
    if (to_json &&
        (check_json_later(to_json, &report) != 0 ||
         check_json_summary(to_json, &report, false, status) != 0) &&
        rc == 0)
        rc = error_set(&error, "%s: cannot write the JSON", args->json_path);
    if (part)
        put_part(args, to_json, one->item, &report, rc != 0 ? EXIT_UNUSABLE : status,
                 rc != 0 ? error.text : NULL);
    if (capture && args->compared && put_comparison(args, &error) != 0)
        rc = -1;
    if (capture && report.frames > 0 && add_to_page(args, capture, &report, status, &error) != 0)
        rc = -1;
    one->interrupted = report.interrupted;
    one->at_mem_max = report.totals.mem_limited;
    one->status = rc != 0 ? EXIT_UNUSABLE : status;
    page_capture_del(capture);
    check_report_free(&report);
    if (rc != 0 && !outfile_failed(to_json) && !outfile_failed(args->html) &&
        !(outfile_is_stdout(args->annotate_path) && outfile_failed(stdout)))
        one->error = error;
}

/* Results of all captures. */
struct check_sum {
    size_t cnts[EXIT_UNUSABLE + 1]; /* number of captures with each exit status */
    int status;                     /* highest exit status of all captures */
};

/* Adds the exit status of a capture to `sum`, and prints the error message of the capture. The
 * caller has already printed the report of the capture. `last`: no other report follows. */
static void add_result(struct check_sum *sum, const struct check_args *args, int status,
                       const char *fault, bool last)
{
    if (fault && *fault)
        cli_error("%s", fault);
    sum->cnts[status]++;
    if (status > sum->status)
        sum->status = status;
    if (args->text && status != EXIT_UNUSABLE && !last)
        fprintf(args->text, "\n");
}

/* Checks the captures one after the other. */
static void check_in_turn(struct check_args *args, struct check_sum *sum)
{
    struct capture_check one = {.to = {args->text, args->json, args->junit}, .threads = args->jobs};

    for (size_t i = 0; i < args->captures.cnt && !one.interrupted; i++) {
        one.item = &args->captures.item[i];
        one.error.text[0] = '\0';
        check_one(&one, args);
        add_result(sum, args, one.status, one.error.text,
                   i + 1 == args->captures.cnt || one.interrupted);
    }
}

/* ---- several captures at a time ----------------------------------------------------------------
 */

/* Part of a temporary file. */
struct section {
    FILE *file;
    off_t from, to;
};

/* Result of the check of a capture until the result is written. */
struct checked {
    struct section out[TO_CNT];
    int status;
    char *fault; /* error message, or NULL */
    bool done;   /* the capture was checked, and its output is not written yet */
};

struct check_pool {
    struct check_args *args;
    struct check_sum *sum;
    /* A check that needs the whole memory limit must run alone. Its thread locks `memory` for
     * writing; the threads of all other checks lock it for reading. */
    pthread_rwlock_t memory;
    size_t mem_share;     /* memory limit of a capture while other threads check captures, bytes */
    pthread_mutex_t lock; /* lock of all members below */
    struct file_queue queue;
    struct checked *checked;
    bool interrupted;
    bool progress; /* show progress on standard error */
};

/* A thread, and its temporary file for each output that the user requested. */
struct check_worker {
    struct check_pool *pool;
    pthread_t thread;
    FILE *to[TO_CNT];
};

/* Returns whether several captures can be checked at the same time: no output needs the packets of
 * all captures at once, and no capture is standard input. */
static bool may_check_in_parallel(const struct check_args *args)
{
    if (args->html || args->export || args->annotate_path || args->immediate || args->session ||
        args->two_points)
        return false;
    for (size_t i = 0; i < args->captures.cnt; i++)
        if (strcmp(args->captures.item[i].path, "-") == 0)
            return false;
    return true;
}

static const char *path_of_capture(const void *items, size_t i)
{
    return ((const struct capture_item *)items)[i].path;
}

/* Copies a section of a temporary file to an output. Returns 0 or -1. */
static int copy_section(const struct section *s, FILE *out)
{
    char buf[16384];
    ssize_t len;

    for (off_t at = s->from; at < s->to; at += len) {
        size_t left = (size_t)(s->to - at);

        len = pread(fileno(s->file), buf, left < sizeof(buf) ? left : sizeof(buf), at);
        if (len <= 0)
            return -1;
        fwrite(buf, 1, (size_t)len, out);
    }
    return 0;
}

/* Writes the result of a capture. */
static void write_result(struct check_pool *pool, size_t at, bool last)
{
    const struct check_args *args = pool->args;
    FILE *const outs[TO_CNT] = {args->text, args->json, args->junit};
    struct checked *checked = &pool->checked[at];

    for (unsigned i = 0; i < TO_CNT; i++)
        if (outs[i] && copy_section(&checked->out[i], outs[i]) != 0)
            checked->status = cli_error("%s: cannot read its temporary file",
                                        name_capture(args->captures.item[at].path, args));
    add_result(pool->sum, args, checked->status, checked->fault, last);
    free(checked->fault);
    checked->fault = NULL;
    checked->done = false;
}

static void begin_sections(struct checked *checked, FILE *const to[TO_CNT])
{
    for (unsigned i = 0; i < TO_CNT; i++)
        checked->out[i] = (struct section){to[i], to[i] ? ftello(to[i]) : 0, 0};
}

/* Checks a capture, and writes its outputs to the temporary files of the worker. If the capture
 * needs more than its share of the memory limit, checks the capture again with the whole limit
 * while no other capture is checked. Returns true if the user interrupted the check. */
static bool check_with(struct check_worker *worker, size_t at, unsigned threads)
{
    struct check_pool *pool = worker->pool;
    struct check_args *args = pool->args;
    struct checked *checked = &pool->checked[at];
    struct capture_check one = {.item = &args->captures.item[at],
                                .threads = threads,
                                .in_parallel = true,
                                .mem_max = pool->mem_share};

    memcpy(one.to, worker->to, sizeof(one.to));
    begin_sections(checked, one.to);
    pthread_rwlock_rdlock(&pool->memory);
    check_one(&one, args);
    pthread_rwlock_unlock(&pool->memory);
    if (one.at_mem_max && !one.interrupted) {
        begin_sections(checked, one.to);
        one.error.text[0] = '\0';
        one.mem_max = 0;
        pthread_rwlock_wrlock(&pool->memory);
        malloc_trim(0); /* returns to the kernel the memory that other threads have freed */
        check_one(&one, args);
        pthread_rwlock_unlock(&pool->memory);
    }
    for (unsigned i = 0; i < TO_CNT; i++) {
        if (!one.to[i])
            continue;
        checked->out[i].to = fflush(one.to[i]) == 0 ? ftello(one.to[i]) : checked->out[i].from;
        if (outfile_failed(one.to[i])) {
            one.status = EXIT_UNUSABLE;
            error_set(&one.error, "%s: cannot write its temporary file", one.item->path);
        }
    }
    checked->status = one.status;
    checked->fault = one.error.text[0] ? strdup(one.error.text) : NULL;
    checked->done = true;
    return one.interrupted;
}

/* Writes the results of checked captures in the order of the captures. Stops at the first capture
 * that is not checked yet. */
static void write_finished(struct check_pool *pool)
{
    size_t at;
    bool shown = pool->progress && pool->queue.finished < pool->queue.cnt;

    if (pool->progress)
        fputs("\r\033[K", stderr);
    while (file_queue_return(&pool->queue, &at))
        write_result(pool, at, at + 1 == pool->queue.cnt);
    if (shown)
        fprintf(stderr, "%zu of %zu captures", pool->queue.finished, pool->queue.cnt);
}

static void *run_worker(void *arg)
{
    struct check_worker *worker = arg;
    struct check_pool *pool = worker->pool;
    unsigned jobs = pool->args->jobs;
    size_t at;

    pthread_mutex_lock(&pool->lock);
    while (!pool->interrupted && file_queue_take(&pool->queue, &at)) {
        bool interrupted;

        pthread_mutex_unlock(&pool->lock);
        /* Several threads check a big capture. Otherwise its check would be the last one to end. */
        interrupted = check_with(worker, at, file_queue_is_big(&pool->queue, at) ? jobs : 1);
        pthread_mutex_lock(&pool->lock);
        pool->interrupted |= interrupted;
        file_queue_finish(&pool->queue, at);
        write_finished(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Starts the workers and waits until they end. Returns 0, or -1 and an error if there is no worker.
 */
static int run_workers(struct check_pool *pool, struct check_worker *worker, unsigned cnt,
                       struct error *error)
{
    const struct check_args *args = pool->args;
    const bool wanted[TO_CNT] = {args->text, args->json, args->junit};
    unsigned started = 0;
    bool failed = false;

    while (started < cnt && !failed) {
        struct check_worker *w = &worker[started];

        w->pool = pool;
        for (unsigned k = 0; k < TO_CNT && !failed; k++)
            failed = wanted[k] && !(w->to[k] = tmpfile());
        if (failed || pthread_create(&w->thread, NULL, run_worker, w) != 0)
            failed = true;
        else
            started++;
    }
    if (started == 0)
        error_set(error, "check: cannot create a thread or a temporary file: %s", strerror(errno));
    for (unsigned i = 0; i < started; i++)
        pthread_join(worker[i].thread, NULL);
    return started ? 0 : -1;
}

/* Checks `cnt` captures at a time. Writes the same outputs as check_in_turn(). Returns 0, or the
 * exit status after an error. */
static int check_in_parallel(struct check_args *args, struct check_sum *sum, unsigned cnt)
{
    struct check_pool pool = {.args = args, .sum = sum, .mem_share = ROCE_FLOW_MEM_MAX / cnt};
    struct check_worker *worker = calloc(cnt, sizeof(*worker));
    size_t captures = args->captures.cnt;
    struct error error = {"check: no memory"};
    int rc = -1;

    pool.checked = calloc(captures, sizeof(*pool.checked));
    pool.progress = !args->quiet && isatty(STDERR_FILENO);
    if (file_queue_init(&pool.queue, path_of_capture, args->captures.item, captures, cnt) &&
        worker && pool.checked) {
        pthread_mutex_init(&pool.lock, NULL);
        pthread_rwlock_init(&pool.memory, NULL);
        sigint_begin();
        rc = run_workers(&pool, worker, cnt, &error);
        sigint_end();
        pthread_rwlock_destroy(&pool.memory);
        pthread_mutex_destroy(&pool.lock);
    }
    /* After an interruption, some captures may have a result although earlier ones in the list have
     * none. */
    for (size_t i = 0; rc == 0 && i < captures; i++)
        if (pool.checked[i].done)
            write_result(&pool, i, i + 1 == captures);
    for (unsigned i = 0; worker && i < cnt; i++)
        for (unsigned k = 0; k < TO_CNT; k++)
            if (worker[i].to[k])
                fclose(worker[i].to[k]);
    file_queue_free(&pool.queue);
    free(pool.checked);
    free(worker);
    return rc == 0 ? 0 : cli_error("%s", error.text);
}

/* ---- outputs of the run ------------------------------------------------------------------------
 */

static bool has_export(const struct export_paths *paths)
{
    return paths->events || paths->csv || paths->perfetto || paths->xplot || paths->gnuplot;
}

/* Opens the outputs. Returns 0, or the exit status after an error. */
static int open_check_outputs(struct check_args *args)
{
    static char page_buffer[1 << 18]; /* a page may have 10 MB; with a large buffer, fewer system
                                       * calls write it */
    struct error error;
    int rc;

    if ((rc = outfile_open(args->json_path, &args->json)) != 0 ||
        (rc = outfile_open(args->junit_path, &args->junit)) != 0 ||
        (rc = outfile_open(args->html_path, &args->html)) != 0)
        return rc;
    if (args->html && args->html != stdout)
        setvbuf(args->html, page_buffer, _IOFBF, sizeof(page_buffer));
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

/* Starts the monitor if the options request it. Returns 0, or the exit status after an error. */
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
    const struct capture_item item = {.path = session_source(args->session)};
    struct capture_check one = {
        .item = &item, .to = {args->text, args->json, args->junit}, .threads = args->jobs};

    check_one(&one, args);
    return one.error.text[0] ? cli_error("%s", one.error.text) : one.status;
}

/* Checks the capture of --baseline, and prints the comparison of the two captures. Returns the exit
 * status of the comparison. */
static int check_baseline(struct check_args *args)
{
    const char *const name[BASELINE_CNT] = {
        [BASELINE_OLD] = args->baseline_path, [BASELINE_NEW] = args->captures.item[0].path};
    const struct check_watch watch = baseline_watch(args->baseline, BASELINE_OLD);
    const bool fail = args->slower_percent > 0;
    struct error error = {""};
    struct check_report report;
    int rc = check_second(args, args->baseline_path, &watch, &report, &error);

    if (rc == 0)
        rc = baseline_compare(args->baseline, name, &error);
    check_report_free(&report);
    if (rc != 0)
        return cli_error("%s", error.text);
    if (args->text)
        baseline_print(args->text, args->baseline, args->verbose);
    if (args->junit)
        baseline_junit(args->junit, args->baseline, fail);
    if (args->json && baseline_json(args->json, args->baseline) != 0)
        return cli_error("%s: cannot write the JSON", args->json_path);
    return fail && baseline_is_slower(args->baseline) ? EXIT_DIFFERS : EXIT_HOLDS;
}

/* Compares the checked capture with the captures of --other-end and --baseline. Returns the highest
 * exit status, at least `status`. */
static int compare_captures(struct check_args *args, int status)
{
    int one;

    if (args->two_points && status != EXIT_UNUSABLE && (one = print_other_end(args)) > status)
        status = one;
    if (args->baseline && status != EXIT_UNUSABLE && (one = check_baseline(args)) > status)
        status = one;
    return status;
}

int check_run(struct check_args *args)
{
    struct check_sum sum = {.status = EXIT_HOLDS};
    unsigned workers = file_queue_workers(args->jobs, args->captures.cnt);
    int status, rc;

    status = rc = open_check_outputs(args);
    if (!args->quiet && args->json != stdout && args->junit != stdout && args->html != stdout &&
        !outfile_is_stdout(args->annotate_path) && !outfile_is_stdout(args->paths.events) &&
        !outfile_is_stdout(args->paths.perfetto))
        args->text = colour_open(args->colour, true);
    if (rc == 0 && args->json && args->shard.count)
        (void)check_json_shard(args->json, &args->shard);
    if (rc == 0 && (rc = start_session(args)) != 0)
        status = rc;
    if (rc == 0 && args->other_end && !(args->two_points = two_points_new()))
        rc = status = cli_error("check: no memory");
    if (rc == 0 && args->baseline_path &&
        !(args->baseline = baseline_new(args->slower_percent > 0 ? args->slower_percent : 5)))
        rc = status = cli_error("check: no memory");
    if (args->junit && status == EXIT_HOLDS)
        check_junit_begin(args->junit);
    if (args->html && status == EXIT_HOLDS)
        page_begin(&args->page, args->html, args->captures.item[0].path);
    if (rc == 0 && args->monitor.interface)
        status = check_live(args);
    if (rc == 0 && workers > 1 && may_check_in_parallel(args))
        rc = status = check_in_parallel(args, &sum, workers);
    else if (rc == 0)
        check_in_turn(args, &sum);
    if (sum.status > status)
        status = sum.status;
    if (rc == 0)
        status = compare_captures(args, status);
    if (args->text && rc == 0 && args->captures.cnt > 1)
        check_text_sum(args->text, sum.cnts, args->captures.cnt);
    if (args->junit && rc == 0)
        check_junit_end(args->junit);
    if (args->html && rc == 0)
        page_end(&args->page);
    two_points_del(args->two_points);
    baseline_del(args->baseline);
    session_stop(args->session);
    colour_close(args->text);
    return close_check_outputs(args) != 0 ? EXIT_UNUSABLE : status;
}
