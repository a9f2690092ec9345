/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * `rocedrill merge`: combines the JSON reports of all shards (util/shard.h) to the report that a
 * single run would have printed. Reports of replay and drill are converted back to struct job and
 * struct drill_case, which the functions of these commands print. Lines of check reports are
 * copied.
 */
#include "cmd_merge.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "check/check_junit.h"
#include "check/check_text.h"
#include "drill/drill_page.h"
#include "drill/drill_report.h"
#include "replay_page.h"
#include "suite/suite_report.h"
#include "util/cli_opts.h"
#include "util/colour.h"
#include "util/keymap.h"
#include "util/outfile.h"
#include "util/shard.h"
#include "util/strbuf.h"

enum { OPT_JUNIT = CLI_LONG, OPT_HTML, OPT_TAP };

static const struct cli_option rows[] = {
    {"json", 'j', "FILE", "write the JSON report of the command; - is stdout"},
    {"junit", OPT_JUNIT, "FILE", "write JUnit XML; - is stdout"},
    {"tap", OPT_TAP, "FILE", "drill: write KTAP; - is stdout"},
#ifdef HAVE_PAGE
    {"html", OPT_HTML, "OUT", "replay, drill: write a page with the differences; - is stdout"},
#endif
    {"quiet", 'q', NULL, "do not print text on standard output"},
    COLOUR_OPTION,
    {"help", 'h', NULL, "print this"},
};
static const struct cli_opts table = {"merge", rows, sizeof(rows) / sizeof(rows[0])};

#define FILE_MIN 16u /* smallest size of the result of one file in a report, bytes */

/* Indexes of merge_args.path and merge_args.out. */
enum { TO_JSON, TO_JUNIT, TO_HTML, TO_TAP, TO_CNT };

struct merge_args {
    bool quiet;
    enum colour_mode colour;
    const char *path[TO_CNT];
    FILE *out[TO_CNT];
    FILE *text;          /* stream of the text report, or NULL */
    char *const *report; /* paths of the reports */
    unsigned cnt;
};

/* The report of one shard (one part of a run). The report of check consists of JSON lines; `json`
 * is the first of them. The report of replay or drill is one JSON object, `json`. */
struct shard_report {
    const char *path;
    const json_t *shard; /* object {index, count, files, ...} inside `json` */
    json_t *json;
    const char *kind; /* name of the member of `json` that contains the results; NULL for check */
    uint64_t size;    /* bytes */
};

static void print_usage(FILE *out)
{
    fprintf(out, "usage: rocedrill merge [options] REPORT.json...\n"
                 "Makes one report from the JSON reports of all shards of check, replay or drill "
                 "(--shard I/N --json REPORT.json).\n"
                 "The report is equal to that of a run without --shard.\n"
                 "options:\n");
    cli_print_options(out, &table);
    fprintf(out, "exit status: that of the run without --shard; 2 also if a shard is missing\n");
}

static size_t number_of(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));

    return n > 0 ? (size_t)n : 0;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Prints a text of a report. Escapes control characters except line ends, because the report may
 * come from another machine. */
static void put_text(FILE *out, const char *text)
{
    while (*text) {
        uint32_t code;
        unsigned len = utf8_decode(text, &code);
        char buf[8] = "";

        memcpy(buf, text, len = len ? len : 1);
        if (*text == '\n')
            fputc('\n', out);
        else
            put_escaped(out, buf);
        text += len;
    }
}

static bool is_set(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* ---- reading the reports -----------------------------------------------------------------------
 */

/* Reads a report of replay or drill completely, or the first line of a report of check. Returns 0,
 * or -1 and an error. */
static int read_report(struct shard_report *r, const char *path, struct error *error)
{
    static const char *const kinds[] = {"captures", "drills"};
    FILE *file = fopen(path, "r");
    json_error_t problem;

    r->path = path;
    if (!file)
        return error_set(error, "%s: cannot be opened", path);
    r->json = json_loadf(file, JSON_DISABLE_EOF_CHECK, &problem);
    if (fseeko(file, 0, SEEK_END) == 0)
        r->size = (uint64_t)ftello(file);
    fclose(file);
    if (!r->json)
        return error_set(error, "%s: no JSON: %s", path, problem.text);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (json_is_array(json_object_get(r->json, kinds[i])))
            r->kind = kinds[i];
    r->shard = r->kind ? json_object_get(r->json, "shard") : r->json;
    if (!number_of(r->shard, "count") || !number_of(r->shard, "index"))
        return error_set(error, "%s: not the report of a run with --shard I/N --json", path);
    if (json_object_get(r->json, "stopped"))
        return error_set(error,
                         "%s: the connection to the device was lost, so some drills were not run: "
                         "run the shard again",
                         path);
    return 0;
}

/* Checks that the reports belong to one run and that no shard is missing. Returns 0, or -1 and an
 * error. */
static int check_reports(const struct shard_report *r, unsigned cnt, struct error *error)
{
    size_t count = number_of(r[0].shard, "count"), files = number_of(r[0].shard, "files");
    uint64_t size = 0;
    char *seen;
    int rc = 0;

    for (unsigned i = 0; i < cnt; i++) {
        size += r[i].size;
        if (number_of(r[i].shard, "count") != count ||
            number_of(r[i].shard, "files") != number_of(r[0].shard, "files"))
            return error_set(
                error,
                "%s: not from the same run as %s: its run has %zu shards and %zu files, "
                "that of %s %zu shards and %zu files",
                r[i].path, r[0].path, number_of(r[i].shard, "count"),
                number_of(r[i].shard, "files"), r[0].path, count, files);
        if ((r[i].kind == NULL) != (r[0].kind == NULL) ||
            (r[i].kind && strcmp(r[i].kind, r[0].kind) != 0))
            return error_set(error, "%s: not a report of the same command as %s", r[i].path,
                             r[0].path);
    }
    if (count > SHARD_MAX || !(seen = calloc(count + 1, 1)))
        return error_set(error, "%s: no memory for %zu shards", r[0].path, count);
    for (unsigned i = 0; i < cnt && rc == 0; i++) {
        size_t index = number_of(r[i].shard, "index");

        if (index > count || seen[index])
            rc = error_set(error, "%s: shard %zu of %zu %s", r[i].path, index, count,
                           index > count ? "does not exist" : "is given twice");
        else
            seen[index] = 1;
    }
    for (size_t i = 1; i <= count && rc == 0; i++)
        if (!seen[i])
            rc = error_set(error, "shard %zu of %zu is missing", i, count);
    free(seen);
    /* Do not compare the number of files for reports of drill. With --only, these reports omit the
     * drills that do not have the variant. */
    if (rc == 0 && files > size / FILE_MIN && !(r[0].kind && strcmp(r[0].kind, "drills") == 0))
        rc = error_set(error, "%s: the run had %zu files, but the reports have fewer results",
                       r[0].path, files);
    return rc;
}

static int open_outputs(struct merge_args *args)
{
    int rc = outfiles_differ(table.command, args->path, TO_CNT);
    bool text = !args->quiet;

    for (unsigned i = 0; i < args->cnt && rc == 0; i++)
        for (unsigned k = 0; k < TO_CNT && rc == 0; k++)
            rc = outfile_is_no_input(args->path[k], args->report[i]);
    for (unsigned i = 0; i < TO_CNT && rc == 0; i++) {
        rc = outfile_open(args->path[i], &args->out[i]);
        text = text && !outfile_is_stdout(args->path[i]);
    }
    if (rc == 0 && text)
        args->text = colour_open(args->colour, true);
    return rc;
}

static int close_outputs(struct merge_args *args)
{
    int rc = 0;

    for (unsigned i = 0; i < TO_CNT; i++)
        if (outfile_close(args->out[i], args->path[i]) != 0)
            rc = EXIT_UNUSABLE;
    colour_close(args->text);
    return rc;
}

/* Writes the merged report as JSON, if requested, and releases it. Returns `status`, or the exit
 * status after an error. */
static int write_json(const struct merge_args *args, json_t *report, int status)
{
    if (args->out[TO_JSON]) {
        if (!report || json_dumpf(report, args->out[TO_JSON], JSON_INDENT(2)) != 0)
            status = cli_error("merge: %s: cannot be written", args->path[TO_JSON]);
        fputc('\n', args->out[TO_JSON]);
    }
    json_decref(report);
    return status;
}

/* ---- merging reports of check ------------------------------------------------------------------
 */

/* Lines about one capture in the report of a shard. They are at the file offsets `from` to `to`. */
struct check_lines {
    FILE *file;
    const char *path;
    long from, to;
    json_t *part; /* last of these lines, parsed; NULL: no report contains the capture */
};

struct check_merge {
    struct check_lines *at;
    size_t cnt;
};

/* Returns whether a line of a check report does not begin with a member "type", or is truncated. */
static bool is_damaged(const char *line, size_t len)
{
    static const char begin[] = "{\"type\":\"";

    return len < sizeof(begin) + 2 || memcmp(line, begin, sizeof(begin) - 1) != 0 ||
           memcmp(line + len - 2, "}\n", 2) != 0;
}

/* Returns whether `part`, the last line of a capture, has a valid exit status. */
static bool has_status(const json_t *part)
{
    const json_t *status = json_object_get(part, "exit_status");

    return json_is_integer(status) && json_integer_value(status) >= 0 &&
           json_integer_value(status) <= EXIT_UNUSABLE;
}

/* Reads a report of check. For each capture in it, stores the position of its lines. Returns 0, or
 * -1 and an error. */
static int find_lines(struct check_merge *m, FILE *file, const char *path, struct error *error)
{
    char *line = NULL;
    size_t cap = 0;
    long from = 0, to = 0;
    size_t number = 0;
    ssize_t len;
    int rc = 0;

    while (rc == 0 && (len = getline(&line, &cap, file)) > 0) {
        long start = to;
        json_t *object;
        size_t position;

        to += len;
        number++;
        if (start == 0) { /* the first line describes the shard */
            from = to;
            continue;
        }
        if (is_damaged(line, (size_t)len)) {
            rc = error_set(error, "%s: line %zu is damaged: run the shard again", path, number);
            break;
        }
        if (strncmp(line, "{\"type\":\"part\",", 15) != 0)
            continue;
        object = json_loads(line, 0, NULL);
        position = number_of(object, "position");
        if (!has_status(object) || position >= m->cnt || m->at[position].part) {
            rc = error_set(error,
                           position < m->cnt && m->at[position].part
                               ? "%s: capture %zu is also in another report"
                               : "%s: the entry of capture %zu is incomplete",
                           path, position + 1);
            json_decref(object);
            break;
        }
        m->at[position] = (struct check_lines){
            .file = file, .path = path, .from = from, .to = start, .part = object};
        from = to;
    }
    free(line);
    return rc;
}

static int copy_lines(FILE *out, const struct check_lines *lines, struct error *error)
{
    char buf[65536];
    long left = lines->to - lines->from;

    if (fseek(lines->file, lines->from, SEEK_SET) != 0)
        left = -1;
    while (left > 0) {
        size_t want = left < (long)sizeof(buf) ? (size_t)left : sizeof(buf);
        size_t got = fread(buf, 1, want, lines->file);

        if (got == 0)
            break;
        fwrite(buf, 1, got, out);
        left -= (long)got;
    }
    return left == 0 ? 0 : error_set(error, "%s: cannot be read again", lines->path);
}

static int print_check(const struct merge_args *args, const struct check_merge *m,
                       struct error *error)
{
    size_t cnts[EXIT_UNUSABLE + 1] = {0};
    int status = EXIT_HOLDS;

    if (args->out[TO_JUNIT])
        check_junit_begin(args->out[TO_JUNIT]);
    for (size_t i = 0; i < m->cnt; i++) {
        const json_t *part = m->at[i].part;
        size_t one = number_of(part, "exit_status");
        const char *fault = text_of(part, "error");

        cnts[one]++;
        status = (int)one > status ? (int)one : status;
        if (fault)
            cli_error("%s", fault);
        if (args->out[TO_JSON] && copy_lines(args->out[TO_JSON], &m->at[i], error) != 0)
            return EXIT_UNUSABLE;
        if (args->out[TO_JUNIT])
            fputs(text_of(part, "junit"), args->out[TO_JUNIT]);
        if (!args->text)
            continue;
        put_text(args->text, text_of(part, "text"));
        if (one != EXIT_UNUSABLE && i + 1 < m->cnt)
            fputc('\n', args->text);
    }
    if (args->text && m->cnt > 1)
        check_text_sum(args->text, cnts, m->cnt);
    if (args->out[TO_JUNIT])
        check_junit_end(args->out[TO_JUNIT]);
    return status;
}

/* Checks that the report of a capture is complete. The JUnit report of the capture is copied into
 * the merged report, so it must be a single element <testsuite>. Returns 0, or -1 and an error. */
static int examine_lines(const struct check_lines *lines, size_t at, size_t cnt,
                         struct error *error)
{
    const char *junit = text_of(lines->part, "junit");

    if (!junit || !text_of(lines->part, "text"))
        return error_set(error, "capture %zu of %zu is missing: a shard did not finish", at + 1,
                         cnt);
    if (!check_junit_is_suite(junit))
        return error_set(error,
                         "%s: the JUnit report of capture %zu is damaged: run the shard again",
                         lines->path, at + 1);
    return 0;
}

static int merge_check(const struct merge_args *args, const struct shard_report *r,
                       struct error *error)
{
    struct check_merge m = {.cnt = number_of(r[0].shard, "files")};
    FILE **file = calloc(args->cnt, sizeof(FILE *));
    int status = EXIT_HOLDS, rc = 0;

    m.at = calloc(m.cnt + 1, sizeof(*m.at));
    if (!m.at || !file)
        rc = error_set(error, "no memory for %zu captures", m.cnt);
    for (unsigned i = 0; i < args->cnt && rc == 0; i++) {
        file[i] = fopen(r[i].path, "r");
        rc = file[i] ? find_lines(&m, file[i], r[i].path, error)
                     : error_set(error, "%s: cannot be opened", r[i].path);
    }
    for (size_t i = 0; i < m.cnt && rc == 0; i++)
        rc = examine_lines(&m.at[i], i, m.cnt, error);
    if (rc == 0)
        status = print_check(args, &m, error);
    for (size_t i = 0; m.at && i < m.cnt; i++)
        json_decref(m.at[i].part);
    for (unsigned i = 0; file && i < args->cnt; i++)
        if (file[i])
            fclose(file[i]);
    free(file);
    free(m.at);
    return rc != 0 || error->text[0] ? cli_error("merge: %s", error->text) : status;
}

/* ---- merging reports of replay -----------------------------------------------------------------
 */

static enum outcome outcome_of(const json_t *report, const char *key)
{
    const char *name = text_of(report, key);

    for (int i = 0; name && i < OUTCOME_CNT; i++)
        if (strcmp(name, outcome_name((enum outcome)i)) == 0)
            return (enum outcome)i;
    return OUTCOME_CNT;
}

static char *copy_of(const json_t *object, const char *key)
{
    const char *text = text_of(object, key);

    return text ? strdup(text) : NULL;
}

/* Restores the report of a job from its JSON, without the members that suite_json() added. */
static void restore_report(struct job *job, json_t *capture)
{
    static const char *const added[] = {"outcome", "expected", "merge"};
    size_t len, i;
    FILE *out = open_memstream(&job->report, &len);
    struct json_writer w = {.out = out, .indent = JOB_REPORT_INDENT};
    const char *key;
    json_t *value, *element;

    for (i = 0; i < sizeof(added) / sizeof(added[0]); i++)
        json_object_del(capture, added[i]);
    json_object_foreach(capture, key, value)
    {
        json_array_foreach(value, i, element) job_count(&job->counts, key, element);
        if (out)
            json_writer_member(&w, key, json_incref(value));
    }
    if (out)
        fclose(out);
}

/* Restores the struct job of a capture from its JSON. Returns 0, or -1 and an error. */
static int restore_job(struct job *jobs, struct capture_item *items, size_t cnt, const char *path,
                       json_t *capture, struct error *error)
{
    const json_t *merge = json_object_get(capture, "merge");
    size_t at = number_of(merge, "position");
    struct job *job = &jobs[at < cnt ? at : 0];

    if (at < cnt && job->item)
        return error_set(error, "%s: capture %zu is also in another report", path, at + 1);
    if (at >= cnt || !text_of(merge, "text") || !text_of(capture, "file") ||
        outcome_of(capture, "outcome") == OUTCOME_CNT ||
        outcome_of(capture, "expected") == OUTCOME_CNT)
        return error_set(error, "%s: the entry of capture %zu is incomplete", path, at + 1);
    job->item = &items[at];
    items[at].path = copy_of(capture, "file");
    job->outcome = outcome_of(capture, "outcome");
    job->expected = items[at].expected = outcome_of(capture, "expected");
    job->text = copy_of(merge, "text");
    job->error = copy_of(merge, "error");
    job->ladders = copy_of(merge, "ladders");
    restore_report(job, capture);
    return 0;
}

static int print_replay(const struct merge_args *args, const struct job *jobs, size_t cnt,
                        const json_t *shard, struct error *error)
{
    struct suite_totals totals;

    suite_totals_of(&totals, jobs, cnt);
    if (args->text && is_set(shard, "folder"))
        suite_text(args->text, &totals, jobs, cnt, is_set(shard, "verbose"));
    for (size_t i = 0; i < cnt && !is_set(shard, "folder"); i++) {
        if (args->text)
            put_text(args->text, jobs[i].text);
        if (jobs[i].error)
            cli_error("%s", jobs[i].error);
    }
    if (args->out[TO_JUNIT])
        suite_junit(args->out[TO_JUNIT], &totals, jobs, cnt);
    if (args->out[TO_HTML] && replay_page_write(args->out[TO_HTML], &totals, jobs, cnt,
                                                text_of(shard, "folder_name"), NULL, error) != 0)
        return cli_error("merge: %s", error->text);
    if (args->out[TO_JSON] && !suite_json(args->out[TO_JSON], &totals, jobs, cnt, NULL, NULL))
        return cli_error("merge: %s: cannot be written", args->path[TO_JSON]);
    return suite_status(&totals);
}

static int merge_replay(const struct merge_args *args, const struct shard_report *r,
                        struct error *error)
{
    size_t cnt = number_of(r[0].shard, "files");
    struct job *jobs = calloc(cnt + 1, sizeof(*jobs));
    struct capture_item *items = calloc(cnt + 1, sizeof(*items));
    int rc = jobs && items ? 0 : error_set(error, "no memory for %zu captures", cnt), status;

    for (unsigned i = 0; i < args->cnt && rc == 0; i++) {
        const json_t *list = json_object_get(r[i].json, "captures");

        for (size_t k = 0; k < json_array_size(list) && rc == 0; k++)
            rc = restore_job(jobs, items, cnt, r[i].path, json_array_get(list, k), error);
    }
    for (size_t i = 0; i < cnt && rc == 0; i++)
        if (!jobs[i].item)
            rc = error_set(error, "capture %zu of %zu is missing", i + 1, cnt);
    status = rc == 0 ? print_replay(args, jobs, cnt, r[0].shard, error)
                     : cli_error("merge: %s", error->text);
    jobs_free(jobs, cnt);
    for (size_t i = 0; items && i < cnt; i++)
        free(items[i].path);
    free(items);
    return status;
}

/* ---- merging reports of drill ------------------------------------------------------------------
 */

/* A drill case from the report of a shard. Cases are sorted by the position of their drill in the
 * whole run. */
struct placed_case {
    size_t position, order; /* `position`: index of the drill in the run. `order`: index of the
                             * case in its report */
    const char *path;
    json_t *json;
};

static int by_position(const void *a, const void *b)
{
    const struct placed_case *x = a, *y = b;

    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void copy_text(char *to, size_t cap, const json_t *object, const char *key)
{
    const char *text = text_of(object, key);

    snprintf(to, cap, "%s", text ? text : "");
}

/* Restores a struct drill_case from its JSON. Returns 0, or -1 and an error. */
static int restore_case(struct drill_suite *suite, const struct placed_case *placed,
                        bool same_drill, struct error *error)
{
    const char *verdict = text_of(placed->json, "verdict"), *file = text_of(placed->json, "file");
    struct drill_case *c;
    int v = 0;

    while (verdict && v < DRILL_VERDICT_CNT &&
           strcmp(verdict, drill_verdict_name((enum drill_verdict)v)) != 0)
        v++;
    if (!verdict || !file || (v == DRILL_VERDICT_CNT && strcmp(verdict, "unusable") != 0))
        return error_set(error, "%s: a drill has no file or no known verdict", placed->path);
    if (!same_drill) {
        if (!VEC_GROW(suite->path, suite->path_cnt, suite->path_cap) ||
            !(suite->path[suite->path_cnt] = strdup(file)))
            return error_set(error, "%s: no memory", placed->path);
        suite->path_cnt++;
    }
    c = drill_suite_case(suite, suite->path[suite->path_cnt - 1], 0);
    if (!c)
        return error_set(error, "%s: no memory", placed->path);
    c->position = placed->position;
    c->unusable = v == DRILL_VERDICT_CNT;
    if (c->unusable)
        error_set(&c->error, "%s",
                  text_of(placed->json, "problem") ? text_of(placed->json, "problem") : "");
    else
        c->result.verdict = (enum drill_verdict)v;
    copy_text(c->variant, sizeof(c->variant), placed->json, "variant");
    copy_text(c->result.problem, sizeof(c->result.problem), placed->json, "problem");
    copy_text(c->result.rules, sizeof(c->result.rules), placed->json, "rule");
    copy_text(c->result.known, sizeof(c->result.known), placed->json, "known");
    c->result.line = (unsigned)number_of(placed->json, "line");
    c->merge = json_incref(json_object_get(placed->json, "merge"));
    c->ladder = text_of(c->merge, "text");
    c->section = text_of(c->merge, "section");
    c->json = json_incref(placed->json);
    json_object_del(placed->json, "merge");
    return c->ladder && c->section
               ? 0
               : error_set(error,
                           "%s: a drill lacks merge.text or merge.section, which --shard writes",
                           placed->path);
}

static int print_drill(const struct merge_args *args, const struct drill_suite *suite,
                       const struct shard_report *r)
{
    const char *device = text_of(r->json, "device");
    bool strict = is_set(r->shard, "strict");
    struct error error = {""};

    device = device ? device : "";
    if (args->text)
        drill_text(args->text, suite, device,
                   is_set(r->shard, "quiet") ? DRILL_QUIET : DRILL_NORMAL);
    if (args->out[TO_TAP])
        drill_tap(args->out[TO_TAP], suite, strict);
    if (args->out[TO_JUNIT])
        drill_junit(args->out[TO_JUNIT], suite, strict);
    if (args->out[TO_HTML] &&
        drill_page_write(args->out[TO_HTML], suite, device, strict, &error) != 0)
        return cli_error("merge: %s", error.text);
    return write_json(args, args->out[TO_JSON] ? drill_json(suite, device) : NULL,
                      drill_suite_status(suite, strict));
}

static int merge_drill(const struct merge_args *args, const struct shard_report *r,
                       struct error *error)
{
    struct drill_suite suite = {0};
    struct placed_case *placed;
    size_t cnt = 0, at = 0;
    int rc = 0, status;

    for (unsigned i = 0; i < args->cnt; i++)
        cnt += json_array_size(json_object_get(r[i].json, "drills"));
    placed = calloc(cnt + 1, sizeof(*placed));
    if (!placed)
        rc = error_set(error, "no memory for %zu drills", cnt);
    for (unsigned i = 0; i < args->cnt && rc == 0; i++) {
        const json_t *list = json_object_get(r[i].json, "drills");

        for (size_t k = 0; k < json_array_size(list); k++) {
            json_t *json = json_array_get(list, k);

            placed[at] = (struct placed_case){
                .position = number_of(json_object_get(json, "merge"), "position"),
                .order = at,
                .path = r[i].path,
                .json = json};
            at++;
        }
    }
    if (rc == 0)
        qsort(placed, cnt, sizeof(*placed), by_position);
    for (size_t i = 0; i < cnt && rc == 0; i++) {
        bool same = i > 0 && placed[i].position == placed[i - 1].position;

        rc = same && placed[i].path != placed[i - 1].path
                 ? error_set(error, "%s: one of its drills is also in %s", placed[i].path,
                             placed[i - 1].path)
                 : restore_case(&suite, &placed[i], same, error);
    }
    status = rc == 0 ? print_drill(args, &suite, &r[0]) : cli_error("merge: %s", error->text);
    drill_suite_free(&suite);
    free(placed);
    return status;
}

/* ---- reading the arguments ---------------------------------------------------------------------
 */

/* Reads the options. Returns -1 if the command shall continue, otherwise the exit status. */
static int read_options(int argc, char **argv, struct merge_args *args)
{
    int c;

    cli_begin(&table, argv);
    while ((c = cli_next(&table, argc, argv)) != -1) {
        switch (c) {
        case 'j': args->path[TO_JSON] = optarg; break;
        case OPT_JUNIT: args->path[TO_JUNIT] = optarg; break;
        case OPT_HTML: args->path[TO_HTML] = optarg; break;
        case OPT_TAP: args->path[TO_TAP] = optarg; break;
        case 'q': args->quiet = true; break;
        case COLOUR_KEY:
            if (colour_option(table.command, optarg, &args->colour) != 0)
                return EXIT_UNUSABLE;
            break;
        case 'h': print_usage(stdout); return EXIT_HOLDS;
        default: return EXIT_UNUSABLE;
        }
    }
    args->report = argv + optind;
    args->cnt = (unsigned)(argc - optind);
    return args->cnt ? -1 : cli_error("merge: no report given (see --help)");
}

/* Prints the merged report. Returns the exit status. */
static int run_merge(struct merge_args *args, const struct shard_report *r)
{
    const char *kind = r[0].kind;
    struct error error = {""};
    int status;

    if (args->path[TO_HTML] && !kind)
        return cli_error("merge: --html: the page of check needs the packets; use rocedrill check "
                         "--html CAPTURE");
    if (args->path[TO_TAP] && (!kind || strcmp(kind, "drills") != 0))
        return cli_error("merge: --tap: only for reports of drill");
    status = open_outputs(args);
    if (status == 0)
        status = !kind                         ? merge_check(args, r, &error)
                 : strcmp(kind, "drills") == 0 ? merge_drill(args, r, &error)
                                               : merge_replay(args, r, &error);
    return close_outputs(args) != 0 ? EXIT_UNUSABLE : status;
}

int cmd_merge(int argc, char **argv)
{
    struct merge_args args = {.quiet = false};
    struct error error = {""};
    struct shard_report *r;
    int status = read_options(argc, argv, &args), rc = 0;

    if (status >= 0)
        return status;
    r = calloc(args.cnt, sizeof(*r));
    if (!r)
        return cli_error("merge: no memory");
    for (unsigned i = 0; i < args.cnt && rc == 0; i++)
        rc = read_report(&r[i], args.report[i], &error);
    if (rc == 0)
        rc = check_reports(r, args.cnt, &error);
    status = rc == 0 ? run_merge(&args, r) : cli_error("merge: %s", error.text);
    for (unsigned i = 0; i < args.cnt; i++)
        json_decref(r[i].json);
    free(r);
    return status;
}
