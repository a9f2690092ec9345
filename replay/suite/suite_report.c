/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite/suite_report.h"

#include <string.h>
#include "engine/base/diff.h"
#include "util/json_util.h"
#include "util/strbuf.h"
#include "util/xml_escape.h"

void suite_totals_of(struct suite_totals *totals, const struct job *jobs, size_t cnt)
{
    memset(totals, 0, sizeof(*totals));
    totals->captures = cnt;
    for (size_t i = 0; i < cnt; i++) {
        const struct job_counts *n = &jobs[i].counts;

        totals->directions += n->directions;
        totals->streams += n->streams;
        totals->exchanges += n->exchanges;
        totals->cut += n->cut > 0;
        totals->missing += n->missing;
        totals->lacking += n->missing > 0;
        totals->damaged += n->damaged;
        totals->with_damage += n->damaged > 0;
        totals->inconclusive += n->inconclusive;
        totals->in_doubt += n->inconclusive > 0;
        totals->outcome[jobs[i].outcome]++;
        totals->unexpected[jobs[i].outcome] += !job_as_expected(&jobs[i]);
    }
}

static size_t unexpected_cnt(const struct suite_totals *totals)
{
    size_t cnt = 0;

    for (int i = 0; i < OUTCOME_CNT; i++)
        cnt += totals->unexpected[i];
    return cnt;
}

int suite_status(const struct suite_totals *totals)
{
    if (totals->unexpected[OUTCOME_CRASHED] || totals->unexpected[OUTCOME_UNUSABLE] ||
        totals->unexpected[OUTCOME_SKIPPED])
        return 2;
    return unexpected_cnt(totals) != 0;
}

/* ---- the text report ---------------------------------------------------------------------------
 */

static void tell_unexpected(FILE *out, const struct job *job)
{
    fputc('\n', out);
    put_escaped(out, job->item->path);
    fprintf(out, ": expected %s, got %s\n", outcome_name(job->expected),
            outcome_name(job->outcome));
}

/* Prints the reasons why a capture with the expected outcome detects fewer regressions. */
static void print_warnings(FILE *out, const struct job *job)
{
    if (job->outcome == OUTCOME_FAIL && job->expected == OUTCOME_FAIL) {
        put_escaped(out, job->item->path);
        fputs(": FAIL, as manifest.tsv expects: this capture detects no regression\n", out);
    }
    if (job->counts.inconclusive) {
        put_escaped(out, job->item->path);
        fprintf(out, ": %zu packet%s inconclusive\n", job->counts.inconclusive,
                job->counts.inconclusive == 1 ? "" : "s");
    }
}

void suite_text(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt,
                bool all)
{
    size_t unexpected = unexpected_cnt(totals);

    fprintf(out, "%zu capture%s, %zu direction%s", totals->captures,
            totals->captures == 1 ? "" : "s", totals->directions,
            totals->directions == 1 ? "" : "s");
    if (totals->streams)
        fprintf(out, ", %zu stream%s", totals->streams, totals->streams == 1 ? "" : "s");
    if (totals->exchanges)
        fprintf(out, ", %zu endpoint%s of CM exchanges", totals->exchanges,
                totals->exchanges == 1 ? "" : "s");
    fputc(':', out);
    for (int i = 0, first = 1; i < OUTCOME_CNT; i++)
        if (totals->outcome[i]) {
            fprintf(out, "%s %zu %s", first ? "" : ",", totals->outcome[i],
                    outcome_name((enum outcome)i));
            first = 0;
        }
    if (unexpected)
        fprintf(out, "; %zu not as expected", unexpected);
    else
        fputs("; all as expected", out);
    if (totals->inconclusive)
        fprintf(out, "; %zu packet%s inconclusive in %zu capture%s", totals->inconclusive,
                totals->inconclusive == 1 ? "" : "s", totals->in_doubt,
                totals->in_doubt == 1 ? "" : "s");
    fputc('\n', out);
    if (totals->cut)
        fprintf(out, "payload not compared in %zu capture%s with cut packets\n", totals->cut,
                totals->cut == 1 ? "" : "s");
    if (totals->missing)
        fprintf(out, "%zu response%s missing in %zu capture%s, not compared\n", totals->missing,
                totals->missing == 1 ? "" : "s", totals->lacking, totals->lacking == 1 ? "" : "s");
    if (totals->damaged)
        fprintf(out, "%zu damaged response%s in %zu capture%s, not compared\n", totals->damaged,
                totals->damaged == 1 ? "" : "s", totals->with_damage,
                totals->with_damage == 1 ? "" : "s");
    for (size_t i = 0; i < cnt; i++)
        print_warnings(out, &jobs[i]);
    for (size_t i = 0; i < cnt; i++) {
        const struct job *job = &jobs[i];

        if (!job_as_expected(job))
            tell_unexpected(out, job);
        else if (all)
            fputc('\n', out);
        if (job_as_expected(job) && !all)
            continue;
        if (job->text)
            fputs(job->text, out);
        if (job->error) {
            put_escaped(out, job->error);
            fputc('\n', out);
        }
    }
}

/* ---- the JUnit report --------------------------------------------------------------------------
 */

static const char *text_of_member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool is_known(const json_t *diff)
{
    return json_object_get(diff, "known_deviation") != NULL;
}

static void put_diff(FILE *out, const json_t *diff)
{
    char text[DIFF_TEXT_MAX];

    fprintf(out, "frame %d: ", (int)json_integer_value(json_object_get(diff, "frame")));
    xml_escape(out, diff_text(text, text_of_member(diff, "field"), text_of_member(diff, "recorded"),
                              text_of_member(diff, "replayed")));
    fputs("; ", out);
    xml_escape(out, text_of_member(diff, "reason"));
    if (*text_of_member(diff, "rule"))
        fprintf(out, " [%s]", text_of_member(diff, "rule"));
}

/* Writes the differences of one direction, stream or exchange into its test case. `what`: member of
 * a difference that contains the number of the direction, stream or exchange. A difference becomes
 * a <failure>, a known deviation becomes text. */
static void put_diffs(FILE *out, const json_t *diffs, const char *what, size_t idx)
{
    const json_t *diff;
    size_t i, known = 0;

    json_array_foreach(diffs, i, diff)
    {
        if (json_integer_value(json_object_get(diff, what)) != (json_int_t)idx + 1)
            continue;
        if (is_known(diff)) {
            known++;
            continue;
        }
        fputs("      <failure type=\"difference\" message=\"", out);
        put_diff(out, diff);
        fputs("\"/>\n", out);
    }
    if (!known)
        return;
    fputs("      <system-out>", out);
    json_array_foreach(diffs, i, diff)
    {
        if (json_integer_value(json_object_get(diff, what)) == (json_int_t)idx + 1 &&
            is_known(diff)) {
            put_diff(out, diff);
            fputc('\n', out);
        }
    }
    fputs("</system-out>\n", out);
}

/* Writes the inconclusive responses and requests of one direction into its test case. */
static void put_inconclusive(FILE *out, const json_t *side)
{
    const json_t *responses =
        json_object_get(json_object_get(side, "as_responder"), "inconclusive");
    const json_t *requests = json_object_get(json_object_get(side, "as_requester"), "inconclusive");
    const json_t *reason;
    size_t i;

    json_array_foreach(json_object_get(responses, "reasons"), i, reason)
    {
        fprintf(out, "      <system-out>responses inconclusive: %d, because the capture ",
                (int)json_integer_value(json_object_get(reason, "responses")));
        xml_escape(out, text_of_member(reason, "capture"));
        fputs("</system-out>\n", out);
    }
    if (json_integer_value(requests))
        fprintf(out,
                "      <system-out>requests inconclusive: %d, because the capture lacks a READ "
                "request</system-out>\n",
                (int)json_integer_value(requests));
}

static void put_direction(FILE *out, const struct job *job, const json_t *diffs, size_t idx,
                          const json_t *side)
{
    const json_t *requester = json_object_get(side, "requester");
    const json_t *responder = json_object_get(side, "responder");

    fputs("    <testcase classname=\"", out);
    xml_escape_name(out, job->item->path);
    fprintf(out, "\" name=\"#%d ", (int)json_integer_value(json_object_get(side, "connection")));
    xml_escape(out, text_of_member(requester, "address"));
    fprintf(out, " QP 0x%06x to ", (int)json_integer_value(json_object_get(requester, "qpn")));
    xml_escape(out, text_of_member(responder, "address"));
    fprintf(out, " QP 0x%06x\">\n", (int)json_integer_value(json_object_get(responder, "qpn")));
    if (strcmp(text_of_member(side, "verdict"), verdict_name(VERDICT_SKIPPED)) == 0) {
        fputs("      <skipped message=\"", out);
        xml_escape(out, text_of_member(side, "reason"));
        fputs("\"/>\n", out);
    }
    if (job->outcome != OUTCOME_FAIL || job->expected != OUTCOME_FAIL)
        put_diffs(out, diffs, "direction", idx);
    put_inconclusive(out, side);
    fputs("    </testcase>\n", out);
}

/* Writes the test case of a datagram stream, or of one end of a CM exchange. */
static void put_stream(FILE *out, const struct job *job, const json_t *diffs, const char *what,
                       size_t idx, const json_t *stream)
{
    fputs("    <testcase classname=\"", out);
    xml_escape_name(out, job->item->path);
    fprintf(out, "\" name=\"%s %zu ", what, idx + 1);
    xml_escape(out, text_of_member(stream, "service"));
    fputc(' ', out);
    xml_escape(out, text_of_member(stream, "as"));
    fputc(' ', out);
    xml_escape(out, text_of_member(stream, "address"));
    fprintf(out, " QP 0x%06x\">\n", (int)json_integer_value(json_object_get(stream, "qpn")));
    if (strcmp(text_of_member(stream, "verdict"), verdict_name(VERDICT_SKIPPED)) == 0) {
        fputs("      <skipped message=\"", out);
        xml_escape(out, text_of_member(stream, "reason"));
        fputs("\"/>\n", out);
    }
    if (job->outcome != OUTCOME_FAIL || job->expected != OUTCOME_FAIL)
        put_diffs(out, diffs, what, idx);
    fputs("    </testcase>\n", out);
}

/* Returns the number of test cases that fail: none if the manifest expects FAIL. */
static size_t failure_cnt(const struct job *job)
{
    return job->expected == OUTCOME_FAIL ? 0 : job->counts.failed;
}

/* Writes the test case for the whole capture. It contains the errors that belong to no
 * connection. */
static void put_capture(FILE *out, const struct job *job)
{
    fputs("    <testcase classname=\"", out);
    xml_escape_name(out, job->item->path);
    fputs("\" name=\"capture\">\n", out);
    if (job_as_expected(job)) {
        if (job->outcome == OUTCOME_SKIPPED || job->outcome == OUTCOME_UNUSABLE) {
            fputs("      <skipped message=\"", out);
            xml_escape_name(out, job->error ? job->error : "");
            fputs("\"/>\n", out);
        }
    } else if (job->outcome != OUTCOME_FAIL) {
        fprintf(out, "      <error type=\"%s\" message=\"expected %s; ", outcome_name(job->outcome),
                outcome_name(job->expected));
        xml_escape_name(out, job->error ? job->error : "");
        fputs("\"/>\n", out);
    }
    fputs("    </testcase>\n", out);
}

void suite_junit(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt)
{
    size_t failures = 0, errors = 0;

    for (size_t i = 0; i < cnt; i++) {
        failures += failure_cnt(&jobs[i]);
        errors += !job_as_expected(&jobs[i]) && jobs[i].outcome != OUTCOME_FAIL;
    }
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites name=\"rocedrill replay\" tests=\"%zu\" failures=\"%zu\" "
            "errors=\"%zu\">\n",
            totals->captures + totals->directions + totals->streams + totals->exchanges, failures,
            errors);
    for (size_t i = 0; i < cnt; i++) {
        const struct job *job = &jobs[i];
        json_t *report = job_json(job), *side;
        const json_t *diffs = json_object_get(report, "differences");
        size_t k;

        fputs("  <testsuite name=\"", out);
        xml_escape_name(out, job->item->path);
        fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%d\">\n",
                job->counts.directions + job->counts.streams + job->counts.exchanges + 1,
                failure_cnt(job), !job_as_expected(job) && job->outcome != OUTCOME_FAIL);
        if (job->counts.inconclusive)
            fprintf(out,
                    "    <properties><property name=\"inconclusive\" value=\"%zu\"/>"
                    "</properties>\n",
                    job->counts.inconclusive);
        put_capture(out, job);
        json_array_foreach(json_object_get(report, "directions"), k, side)
            put_direction(out, job, diffs, k, side);
        json_array_foreach(json_object_get(report, "streams"), k, side)
            put_stream(out, job, diffs, "stream", k, side);
        json_array_foreach(json_object_get(report, "exchanges"), k, side)
            put_stream(out, job, diffs, "exchange", k, side);
        fputs("  </testsuite>\n", out);
        json_decref(report);
    }
    fputs("</testsuites>\n", out);
}

/* Version of replay.schema.json. */
#define SUITE_JSON_VERSION 2

/* ---- the JSON report ---------------------------------------------------------------------------
 */

static json_t *summary_json(const struct suite_totals *totals)
{
    json_t *summary = json_pack(
        "{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "schema_version", SUITE_JSON_VERSION,
        "captures", (json_int_t)totals->captures, "directions", (json_int_t)totals->directions,
        "streams", (json_int_t)totals->streams, "exchanges", (json_int_t)totals->exchanges,
        "unexpected", (json_int_t)unexpected_cnt(totals), "responses_missing",
        (json_int_t)totals->missing, "inconclusive", (json_int_t)totals->inconclusive);

    for (int i = 0; i < OUTCOME_CNT; i++)
        json_object_set_new(summary, outcome_name((enum outcome)i),
                            json_integer((json_int_t)totals->outcome[i]));
    return summary;
}

/* Returns the data with which `rocedrill merge` restores the result of a capture. */
static json_t *merge_json(const struct job *job, const struct suite_text *how)
{
    bool shown = !how->folder || how->verbose || !job_as_expected(job);
    json_t *part = json_pack("{s:I, s:o}", "position", (json_int_t)job->item->position, "text",
                             json_lossy_string(shown && job->text ? job->text : ""));

    if (job->error)
        json_object_set_new(part, "error", json_lossy_string(job->error));
    if (job->ladders)
        json_object_set_new(part, "ladders", json_lossy_string(job->ladders));
    return part;
}

static json_t *head_json(const struct shard *shard, const struct suite_text *how)
{
    json_t *head = shard_json(shard);

    json_object_set_new(head, "folder", json_boolean(how->folder != NULL));
    if (how->folder)
        json_object_set_new(head, "folder_name", json_lossy_string(how->folder));
    json_object_set_new(head, "verbose", json_boolean(how->verbose));
    return head;
}

bool suite_json(FILE *out, const struct suite_totals *totals, const struct job *jobs, size_t cnt,
                const struct shard *shard, const struct suite_text *how)
{
    struct json_writer w = {.out = out, .indent = 2};

    putc('{', out);
    json_writer_member(&w, "summary", summary_json(totals));
    json_writer_list(&w, "captures");
    for (size_t i = 0; i < cnt; i++) {
        struct json_writer c = {.out = out, .indent = JOB_REPORT_INDENT, .member = true};

        json_writer_next(&w);
        fprintf(out, "{%s", jobs[i].report ? jobs[i].report : "");
        json_writer_member(&c, "outcome", json_string(outcome_name(jobs[i].outcome)));
        json_writer_member(&c, "expected", json_string(outcome_name(jobs[i].expected)));
        if (shard)
            json_writer_member(&c, "merge", merge_json(&jobs[i], how));
        fputs("\n    }", out);
        w.failed |= c.failed || !jobs[i].report;
    }
    json_writer_list_end(&w);
    if (shard)
        json_writer_member(&w, "shard", head_json(shard, how));
    fputs("\n}\n", out);
    return !w.failed;
}
