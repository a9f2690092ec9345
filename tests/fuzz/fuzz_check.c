/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: whole captures through check and decode, with every kind of output. capture.h
 * describes the input.
 *
 * Invariants: the JSON output is valid JSON with a line for each finding and each connection. Text
 * and XML output is valid UTF-8 without control characters.
 *
 * A check of the annotated copy, and a check without any output, have the same result as a check of
 * the capture. For some inputs, the check without output uses two threads. It uses one thread for
 * most inputs, because threads wait for each other, and on a busy machine each wait takes
 * milliseconds. If a capture has no ERROR findings, the same capture with frames cut by a snaplen
 * has none either.
 */
#define _GNU_SOURCE
#include <jansson.h>
#include "capture.h"
#include "check/check.h"
#include "check/check_json.h"
#include "check/check_junit.h"
#include "decode.h"
#include "util/strbuf.h"

#define CONNS   64u
#define THREADS 16u /* one of this many inputs is also checked with two threads */

/* The result of a run of check on one capture. */
struct outcome {
    int rc;
    uint32_t frames;
    uint64_t unreadable, cut, foreign, ended, failed;
    struct roce_flow_totals totals;
};

struct output {
    FILE *file;
    char *p;
    size_t len;
};

static void output_begin(struct output *o)
{
    *o = (struct output){0};
    o->file = open_memstream(&o->p, &o->len);
    FUZZ_CHECK(o->file != NULL);
}

static void output_end(struct output *o)
{
    free(o->p);
}

/* Checks that a text or XML output is valid UTF-8 without control characters except line breaks. */
static void check_clean(struct output *o)
{
    FUZZ_CHECK(fclose(o->file) == 0);
    FUZZ_CHECK(strlen(o->p) == o->len);
    for (size_t i = 0; i < o->len;) {
        uint32_t code;
        unsigned bytes = utf8_decode(o->p + i, &code);

        FUZZ_CHECK(bytes > 0);
        FUZZ_CHECK(code >= 0x20 || code == '\n' || code == '\t');
        FUZZ_CHECK(code < 0x7F || code > 0x9F);
        i += bytes;
    }
}

/* Checks that each line of the output is a JSON object. Returns the number of objects with the
 * member "type" equal to `type`. If `type` is NULL, returns the number of all objects. */
static uint64_t check_json(struct output *o, const char *type)
{
    uint64_t cnt = 0;

    for (char *line = o->p; line && *line;) {
        char *end = strchr(line, '\n');
        json_error_t json_error;
        json_t *object;
        const char *is;

        FUZZ_CHECK(end != NULL);
        object = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &json_error);
        if (!object)
            fprintf(stderr, "%s: %.*s\n", json_error.text, (int)(end - line), line);
        FUZZ_CHECK(json_is_object(object));
        is = json_string_value(json_object_get(object, "type"));
        cnt += !type || (is && strcmp(is, type) == 0);
        json_decref(object);
        line = end + 1;
    }
    return cnt;
}

static void print_all(const struct check_report *report)
{
    struct output o;

    for (int verbose = 0; verbose < 2; verbose++) {
        output_begin(&o);
        check_text(o.file, report, verbose);
        check_clean(&o);
        output_end(&o);
    }
    output_begin(&o);
    check_junit_begin(o.file);
    check_junit_add(o.file, report, FAIL_ON_NOTE);
    check_junit_end(o.file);
    check_clean(&o);
    output_end(&o);
}

static struct outcome outcome_of(const struct check_report *report, int rc)
{
    struct outcome outcome = {.rc = rc,
                              .frames = report->frames,
                              .unreadable = report->counts.unreadable,
                              .cut = report->counts.cut,
                              .foreign = report->counts.foreign,
                              .ended = report->ended,
                              .failed = report->failed,
                              .totals = report->totals};

    outcome.totals.mem_now = outcome.totals.mem_peak = 0;
    return outcome;
}

/* Runs check on a capture with all outputs, and checks each output. */
static struct outcome check_loud(const char *path, const char *annotated)
{
    struct output json;
    struct check_options options = {.keep_findings = true,
                                    .keep_history = true,
                                    .conn_max = CONNS,
                                    .annotate_to = annotated,
                                    .threads = 1};
    struct error error = {""};
    struct check_report report;
    struct outcome outcome;

    output_begin(&json);
    options.json = json.file;
    outcome.rc = check_capture(path, &options, &report, &error);
    outcome = outcome_of(&report, outcome.rc);
    FUZZ_CHECK(report.name != NULL);
    FUZZ_CHECK((outcome.rc == 0) == (error.text[0] == 0));
    if (report.frames > 0)
        print_all(&report);
    FUZZ_CHECK(check_json_summary(json.file, &report, false, 0) == 0 && fclose(json.file) == 0);
    FUZZ_CHECK(check_json(&json, "finding") == outcome.totals.findings[ROCE_SEV_ERROR] +
                                                   outcome.totals.findings[ROCE_SEV_WARN] +
                                                   outcome.totals.findings[ROCE_SEV_NOTE]);
    FUZZ_CHECK(check_json(&json, "connection") == outcome.ended);
    FUZZ_CHECK(check_json(&json, "summary") == 1);
    output_end(&json);
    check_report_free(&report);
    return outcome;
}

static struct outcome check_quiet(const char *path, unsigned threads)
{
    const struct check_options options = {.threads = threads};
    struct error error = {""};
    struct check_report report;
    int rc = check_capture(path, &options, &report, &error);
    struct outcome outcome = outcome_of(&report, rc);

    check_report_free(&report);
    return outcome;
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
    FUZZ_CHECK(a->rc == b->rc && a->frames == b->frames && a->unreadable == b->unreadable);
    FUZZ_CHECK(a->cut == b->cut && a->foreign == b->foreign);
    FUZZ_CHECK(a->ended == b->ended && a->failed == b->failed);
    FUZZ_CHECK(a->totals.packets == b->totals.packets && a->totals.dropped == b->totals.dropped);
    FUZZ_CHECK(a->totals.connections == b->totals.connections);
    FUZZ_CHECK(memcmp(a->totals.rules, b->totals.rules, sizeof(a->totals.rules)) == 0);
}

static void decode(const char *path, const struct outcome *outcome)
{
    struct decode_options options = {.verbose = true};
    struct output text, json;
    struct error error = {""};

    output_begin(&text);
    output_begin(&json);
    options.text = text.file;
    options.json = json.file;
    FUZZ_CHECK(decode_file(path, &options, &error) == 0 || error.text[0]);
    check_clean(&text);
    FUZZ_CHECK(fclose(json.file) == 0);
    FUZZ_CHECK(check_json(&json, NULL) <= outcome->frames);
    output_end(&text);
    output_end(&json);
}

static bool is_clean(const struct outcome *o)
{
    return o->rc == 0 && o->totals.findings[ROCE_SEV_ERROR] == 0 && o->totals.dropped == 0 &&
           o->unreadable == 0 && o->cut == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], annotated[64], cut[64];
    struct outcome loud, quiet, again, part;
    int fd, copy, cut_fd;

    if (size < FUZZ_CAPTURE_HEAD + FUZZ_CAPTURE_RECORD)
        return 0;
    fd = fuzz_capture(data, size, ROCE_FRAME_MAX, path);
    copy = fuzz_memfile("annotated", annotated);
    loud = check_loud(path, annotated);
    quiet = check_quiet(path, size % THREADS == 0 ? 2 : 1);
    check_same(&loud, &quiet);
    again = check_quiet(annotated, 1);
    check_same(&loud, &again);
    decode(path, &loud);
    if (is_clean(&loud)) {
        cut_fd = fuzz_capture(data, size, 42 + data[4] % 128, cut);
        part = check_quiet(cut, 1);
        FUZZ_CHECK(part.totals.findings[ROCE_SEV_ERROR] == 0);
        close(cut_fd);
    }
    close(copy);
    close(fd);
    return 0;
}
