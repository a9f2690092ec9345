/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite/worker_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"
#include "engine/reasons/peer_quirks.h"
#include "infer/setup_dump.h"
#include "live/live_replay.h"
#include "report/report_exchange.h"
#include "report/verdict.h"
#include "util/file_queue.h"
#include "util/json_util.h"
#include "util/strbuf.h"

/* Files that a job writes. */
struct job_files {
    FILE *text;
    FILE *report; /* NULL if options.json is not set */
};

/* A job and the process that runs the job. */
struct worker {
    pid_t pid; /* 0 if there is no process */
    struct job_files files;
    FILE *result; /* other members of struct job, as JSON */
};

static const enum outcome outcomes[] = {[VERDICT_PASS] = OUTCOME_PASS,
                                        [VERDICT_FAIL] = OUTCOME_FAIL,
                                        [VERDICT_SKIPPED] = OUTCOME_SKIPPED};

static const char *peer_of(const struct capture_item *item, const struct job_options *options)
{
    const char *quirks = peer_quirks_named(options->peer ? options->peer : item->peer);

    return options->live && quirks && strcmp(quirks, PEER_QUIRKS_AUTO) == 0 ? NULL : quirks;
}

/* ---- running one job --------------------------------------------------------------------------
 */

void job_count(void *ctx, const char *list, const json_t *element)
{
    struct job_counts *counts = ctx;
    const json_t *ours = json_object_get(element, "as_responder");
    const json_t *requester = json_object_get(element, "as_requester");
    const json_t *doubts = json_object_get(ours, "inconclusive");
    const json_t *ignored = json_object_get(ours, "ignored");
    const char *verdict = json_string_value(json_object_get(element, "verdict"));

    counts->directions += strcmp(list, "directions") == 0;
    counts->streams += strcmp(list, "streams") == 0;
    counts->exchanges += strcmp(list, "exchanges") == 0;
    counts->failed += verdict && strcmp(verdict, verdict_name(VERDICT_FAIL)) == 0;
    counts->cut += json_integer_value(json_object_get(ours, "cut_payloads")) > 0;
    counts->missing += (size_t)json_integer_value(json_object_get(ignored, "not_captured"));
    counts->damaged += (size_t)json_integer_value(json_object_get(ignored, "damaged"));
    counts->inconclusive += (size_t)json_integer_value(json_object_get(doubts, "responses"));
    counts->inconclusive += (size_t)json_integer_value(json_object_get(requester, "inconclusive"));
}

/* Counts the directions, streams and exchanges of a replay without a JSON report. With a JSON
 * report, job_count() counts them. */
static void count_parts(struct job_counts *counts, const struct replay *replay)
{
    const struct response_result *all = replay->responses.result;
    const struct request_result *requests = replay->requests.result;

    counts->directions = replay->session.dir_cnt;
    for (uint32_t i = 0; i < replay->session.dir_cnt; i++) {
        counts->failed += report_run_verdict(replay, i) == VERDICT_FAIL;
        if (requests && requests[i].verdict != VERDICT_SKIPPED)
            counts->inconclusive += requests[i].inconclusive;
        if (!all || all[i].verdict == VERDICT_SKIPPED)
            continue;
        counts->cut += replay->session.dir[i].setup.cut > 0;
        counts->missing += all[i].not_captured;
        counts->damaged += all[i].damaged;
        counts->inconclusive += all[i].inconclusive;
    }
    counts->streams = replay->dgrams.cnt;
    for (uint32_t i = 0; i < replay->dgrams.cnt; i++)
        counts->failed += replay->dgrams.stream[i].verdict == VERDICT_FAIL;
    for (uint32_t i = 0; i < replay->cm_exchanges.cnt; i++)
        for (unsigned role = 0; role < 2; role++) {
            const struct cm_exchange_end *end = &replay->cm_exchanges.at[i].end[role];

            counts->exchanges += report_exchange_is_played(end);
            counts->failed += end->verdict == VERDICT_FAIL;
        }
}

json_t *job_json(const struct job *job)
{
    size_t len = job->report ? strlen(job->report) : 0;
    char *text = malloc(len + 3);
    json_t *json = NULL;

    if (text) {
        snprintf(text, len + 3, "{%s}", job->report ? job->report : "");
        json = json_loads(text, 0, NULL);
    }
    free(text);
    return json;
}

static struct json_writer report_writer(struct job *job, FILE *report)
{
    return (struct json_writer){
        .out = report, .indent = JOB_REPORT_INDENT, .element = job_count, .ctx = &job->counts};
}

/* Writes the report of a capture that could not be replayed. */
static void write_fault(struct job *job, FILE *report, const char *text)
{
    struct json_writer w = report_writer(job, report);

    json_writer_member(&w, "file", json_lossy_string(job->item->path));
    json_writer_member(&w, "verdict", json_string("ERROR"));
    json_writer_member(&w, "error", json_lossy_string(text));
}

/* Returns the expected outcome of a job. For a closed loop it is never FAIL, because our RNIC plays
 * both ends and nothing is compared with recorded packets. */
static enum outcome expected_of(const struct job *job, const struct job_options *options)
{
    if (!options->closed || job->item->expected == OUTCOME_UNUSABLE)
        return job->item->expected;
    return job->outcome == OUTCOME_SKIPPED ? OUTCOME_SKIPPED : OUTCOME_PASS;
}

static int play_closed(struct job *job, const struct job_files *files, const struct replay *replay,
                       const struct job_options *options, struct error *error)
{
    struct json_writer w = report_writer(job, files->report);
    struct loop_options closed = *options->closed;
    struct loop_summary sum;
    int rc;

    closed.exchanges = &replay->cm_exchanges;
    closed.streams = &replay->dgrams;
    rc = closed_sum_run(&sum, &replay->session, &closed, error);

    if (rc == 0) {
        job->outcome = outcomes[loop_summary_verdict(&sum)];
        if (job->outcome == OUTCOME_SKIPPED)
            error_set(error, "%s: nothing to replay: %s", replay->trace.name,
                      closed_sum_skip_reason(&sum));
        if (options->text)
            report_closed_text(files->text, &sum, options->closed);
        report_closed_json(&w, &sum, options->closed);
        if (w.failed)
            rc = error_set(error, "%s: the report cannot be created", replay->trace.name);
    }
    loop_summary_free(&sum);
    return rc;
}

/* Prints a command that replays the capture and draws the whole conversation. */
static void print_rerun_command(FILE *text, const struct job *job,
                                const struct job_options *options)
{
    static const char *const sides[] = {[REPLAY_RESPONDER] = " --side responder",
                                        [REPLAY_REQUESTER] = " --side requester",
                                        [REPLAY_BOTH] = ""};
    const char *peer = peer_of(job->item, options);

    if (!peer)
        peer = PEER_QUIRKS_NONE;
    else if (strcmp(peer, PEER_QUIRKS_AUTO) == 0)
        peer = NULL;
    fprintf(text, "to repeat: rocedrill replay --ladder%s%s%s%s ", peer ? " --quirks " : "",
            peer ? peer : "", options->sides ? sides[options->sides & REPLAY_BOTH] : "",
            options->strict ? " --strict" : "");
    put_shell_word(text, job->item->path);
    fputc('\n', text);
}

/* Draws the ladder diagrams of a job. Draws none if out of memory. */
static void draw_ladders(struct job *job, const struct replay *replay,
                         const struct report_options *options)
{
    size_t len;
    FILE *out = open_memstream(&job->ladders, &len);

    if (!out)
        return;
    report_ladders(out, replay, options);
    fclose(out);
}

static int play_recorded(struct job *job, const struct job_files *files,
                         const struct replay *replay, const struct job_options *options,
                         struct error *error)
{
    struct json_writer w = report_writer(job, files->report);

    job->outcome = outcomes[report_verdict(replay)];
    if (job->outcome == OUTCOME_SKIPPED)
        error_set(error, "%s: nothing to replay: %s", replay->trace.name,
                  report_skip_reason(replay));
    if (options->text)
        report_text(files->text, replay, &options->report);
    if (options->text && job->outcome == OUTCOME_FAIL && !options->live)
        print_rerun_command(files->text, job, options);
    if (options->ladders && job->outcome == OUTCOME_FAIL)
        draw_ladders(job, replay, &options->report);
    if (!files->report) {
        count_parts(&job->counts, replay);
        return 0;
    }
    report_json(&w, replay);
    return w.failed ? error_set(error, "%s: the report cannot be created", replay->trace.name) : 0;
}

static void keep_fault(struct job *job, const struct error *error)
{
    job->error = error->text[0] ? strdup(error->text) : NULL;
}

static void play_capture(struct job *job, const struct job_files *files,
                         const struct job_options *options)
{
    const struct replay_options replay_options = {.quirks = peer_of(job->item, options),
                                                  .strict = options->strict,
                                                  .narrow = options->narrow,
                                                  .roles = options->closed ? REPLAY_NEITHER
                                                                           : options->sides,
                                                  .memory_log = options->dump_path};
    struct error error = {""};
    struct replay replay;
    int rc;

    rc = options->live
             ? live_replay(&replay, job->item->path, &replay_options, options->live, &error)
             : replay_run(&replay, job->item->path, &replay_options, &error);
    if (rc != 0 ||
        (options->dump_path &&
         setup_dump_write(&replay.session, &replay.memory_log, options->dump_path, &error) != 0) ||
        (options->closed ? play_closed(job, files, &replay, options, &error)
                         : play_recorded(job, files, &replay, options, &error)) != 0) {
        job->outcome = OUTCOME_UNUSABLE;
        job->counts = (struct job_counts){0};
        if (files->report && (fflush(files->report), ftruncate(fileno(files->report), 0)) == 0)
            rewind(files->report);
        write_fault(job, files->report, error.text);
    }
    keep_fault(job, &error);
    replay_free(&replay);
}

/* Returns the contents of a file as text, or NULL if out of memory. */
static char *read_back(FILE *file)
{
    off_t len = fseeko(file, 0, SEEK_END) == 0 ? ftello(file) : -1;
    char *text = len < 0 ? NULL : malloc((size_t)len + 1);

    rewind(file);
    if (text)
        text[fread(text, 1, (size_t)len, file)] = '\0';
    return text;
}

/* Creates the files of a job. Returns 0, or -1 and an error. Call close_files() in both cases. */
static int open_files(struct job_files *files, const struct job *job,
                      const struct job_options *options, struct error *error)
{
    files->text = tmpfile();
    files->report = options->json ? tmpfile() : NULL;
    return files->text && (files->report || !options->json)
               ? 0
               : error_set(error, "%s: cannot create a temporary file: %s", job->item->path,
                           strerror(errno));
}

static void close_files(struct job_files *files)
{
    if (files->text)
        fclose(files->text);
    if (files->report)
        fclose(files->report);
}

/* Reads the files of a job that has ended. */
static void read_files(struct job *job, const struct job_files *files)
{
    job->text = read_back(files->text);
    if (files->report)
        job->report = read_back(files->report);
}

/* ---- worker processes --------------------------------------------------------------------------
 */

/* Writes the result of a worker process to its file, which collect_result() reads. */
static int exit_worker(const struct job *job, FILE *result)
{
    const struct job_counts *n = &job->counts;
    json_t *all =
        json_pack("{s:i, s:o, s:o, s:[IIIIIIII]}", "outcome", (int)job->outcome, "fault",
                  job->error ? json_lossy_string(job->error) : json_null(), "ladders",
                  job->ladders ? json_lossy_string(job->ladders) : json_null(), "counts",
                  (json_int_t)n->directions, (json_int_t)n->streams, (json_int_t)n->exchanges,
                  (json_int_t)n->failed, (json_int_t)n->cut, (json_int_t)n->missing,
                  (json_int_t)n->damaged, (json_int_t)n->inconclusive);
    int rc = !all || json_dumpf(all, result, 0) != 0 || fflush(result) != 0 ? -1 : 0;

    json_decref(all);
    return rc;
}

static void close_worker(struct worker *w)
{
    close_files(&w->files);
    if (w->result)
        fclose(w->result);
    *w = (struct worker){.pid = 0};
}

static int start_worker(struct job *job, struct worker *w, const struct job_options *options,
                        struct error *error)
{
    int rc = open_files(&w->files, job, options, error);

    w->result = tmpfile();
    fflush(NULL);
    w->pid = rc == 0 && w->result ? fork() : -1;
    if (w->pid < 0) {
        if (rc == 0)
            error_set(error, "%s: cannot start the replay process or create a temporary file: %s",
                      job->item->path, strerror(errno));
        close_worker(w);
        return -1;
    }
    if (w->pid == 0) {
        play_capture(job, &w->files, options);
        _exit(fflush(w->files.text) == 0 && (!w->files.report || fflush(w->files.report) == 0) &&
                      exit_worker(job, w->result) == 0
                  ? 0
                  : 1);
    }
    return 0;
}

/* Sets the members of a job from the JSON that exit_worker() wrote in the worker process. */
static void read_result(struct job *job, const json_t *all)
{
    const json_t *n = json_object_get(all, "counts");
    size_t *const member[] = {&job->counts.directions, &job->counts.streams,
                              &job->counts.exchanges,  &job->counts.failed,
                              &job->counts.cut,        &job->counts.missing,
                              &job->counts.damaged,    &job->counts.inconclusive};

    job->outcome = (enum outcome)json_integer_value(json_object_get(all, "outcome"));
    if (json_is_string(json_object_get(all, "fault")))
        job->error = strdup(json_string_value(json_object_get(all, "fault")));
    if (json_is_string(json_object_get(all, "ladders")))
        job->ladders = strdup(json_string_value(json_object_get(all, "ladders")));
    for (size_t i = 0; i < sizeof(member) / sizeof(member[0]); i++)
        *member[i] = (size_t)json_integer_value(json_array_get(n, i));
}

static void collect_result(struct job *job, struct worker *w, int status)
{
    json_t *all = NULL;

    if (status == 0) {
        rewind(w->result);
        all = json_loadf(w->result, 0, NULL);
    }
    if (all) {
        read_result(job, all);
        read_files(job, &w->files);
        json_decref(all);
    } else {
        struct error error;
        size_t len;
        FILE *report = open_memstream(&job->report, &len);

        job->outcome = OUTCOME_CRASHED;
        if (WIFSIGNALED(status))
            error_set(&error, "%s: the replay process was killed by signal %d (%s)",
                      job->item->path, WTERMSIG(status), strsignal(WTERMSIG(status)));
        else
            error_set(&error, "%s: the replay process ended abnormally (wait status %d)",
                      job->item->path, status);
        keep_fault(job, &error);
        write_fault(job, report, error.text);
        if (report)
            fclose(report);
    }
    close_worker(w);
}

struct job_batch {
    struct job *jobs;
    struct worker *workers;
    struct file_queue queue;
    const struct job_watcher *watcher;
};

static void finish_job(struct job_batch *batch, size_t at, const struct job_options *options)
{
    batch->jobs[at].expected = expected_of(&batch->jobs[at], options);
    file_queue_finish(&batch->queue, at);
}

/* Waits until a worker ends. Returns the number of jobs that this call completes. */
static size_t wait_for_workers(struct job_batch *batch, const struct job_options *options)
{
    struct worker *workers = batch->workers;
    size_t done = 0;
    int status;
    pid_t pid;

    do {
        pid = waitpid(-1, &status, 0);
    } while (pid < 0 && errno == EINTR);
    /* If `pid` is negative, waitpid() failed because another part of the program has collected the
     * exit statuses. So treat all workers as ended. */
    for (size_t i = 0; i < batch->queue.cnt; i++)
        if (workers[i].pid && (workers[i].pid == pid || pid < 0)) {
            collect_result(&batch->jobs[i], &workers[i], pid < 0 ? -1 : status);
            finish_job(batch, i, options);
            done++;
        }
    return done;
}

static void notify_watcher(struct job_batch *batch)
{
    const struct job_watcher *watcher = batch->watcher;
    size_t at;

    if (watcher->progress)
        watcher->progress(watcher->ctx, batch->queue.finished, batch->queue.cnt);
    while (file_queue_return(&batch->queue, &at))
        if (watcher->done)
            watcher->done(watcher->ctx, &batch->jobs[at]);
}

static const char *path_of_job(const void *jobs, size_t i)
{
    return ((const struct job *)jobs)[i].item->path;
}

static int run_in_workers(struct job_batch *batch, unsigned at_a_time,
                          const struct job_options *options, struct error *error)
{
    size_t running = 0, at = 0;
    bool more = true;
    int rc = 0;

    while (running || more) {
        if (more && running < at_a_time) {
            more = file_queue_take(&batch->queue, &at);
            if (more)
                rc = start_worker(&batch->jobs[at], &batch->workers[at], options, error);
            more = more && rc == 0;
            running += more;
            continue;
        }
        running -= wait_for_workers(batch, options);
        notify_watcher(batch);
    }
    return rc;
}

static int run_in_process(struct job_batch *batch, const struct job_options *options,
                          struct error *error)
{
    for (size_t at; file_queue_take(&batch->queue, &at);) {
        struct job *job = &batch->jobs[at];
        struct job_files files;
        int rc = open_files(&files, job, options, error);

        if (rc == 0) {
            play_capture(job, &files, options);
            read_files(job, &files);
        }
        close_files(&files);
        if (rc != 0)
            return -1;
        finish_job(batch, at, options);
        notify_watcher(batch);
    }
    return 0;
}

int worker_pool_run(const struct capture_set *captures, unsigned at_a_time,
                    const struct job_options *options, const struct job_watcher *watcher,
                    struct job **out, struct error *error)
{
    struct job_batch batch = {.watcher = watcher};
    size_t cnt = captures->cnt;
    int rc;

    batch.jobs = *out = calloc(cnt + 1, sizeof(*batch.jobs));
    batch.workers = calloc(cnt + 1, sizeof(*batch.workers));
    for (size_t i = 0; batch.jobs && i < cnt; i++)
        batch.jobs[i].item = &captures->item[i];
    if (!batch.jobs || !batch.workers ||
        !file_queue_init(&batch.queue, path_of_job, batch.jobs, cnt, at_a_time))
        rc = error_set(error, "no memory for %zu captures", cnt);
    else
        rc = at_a_time > 1 ? run_in_workers(&batch, at_a_time, options, error)
                           : run_in_process(&batch, options, error);
    file_queue_free(&batch.queue);
    free(batch.workers);
    return rc;
}

void jobs_free(struct job *jobs, size_t cnt)
{
    for (size_t i = 0; jobs && i < cnt; i++) {
        free(jobs[i].text);
        free(jobs[i].error);
        free(jobs[i].ladders);
        free(jobs[i].report);
    }
    free(jobs);
}
