/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "replay_page.h"

#include <stdlib.h>
#include <string.h>
#include "engine/base/diff.h"
#include "page/difference.h"
#include "page/page_check.h"
#include "util/strbuf.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* A capture. If it failed, also the differences in its report. */
struct result {
    const struct job *job;
    json_t *differences; /* NULL: none */
};

static void free_results(struct result *results, size_t cnt)
{
    for (size_t i = 0; results && i < cnt; i++)
        json_decref(results[i].differences);
    free(results);
}

/* Returns an array with the result of each job, or NULL if out of memory. The caller releases it
 * with free_results(). */
static struct result *parse_results(const struct job *jobs, size_t cnt)
{
    struct result *results = calloc(cnt ? cnt : 1, sizeof(*results));

    for (size_t i = 0; results && i < cnt; i++) {
        json_t *report = jobs[i].outcome == OUTCOME_FAIL ? job_json(&jobs[i]) : NULL;

        results[i].job = &jobs[i];
        results[i].differences = json_incref(json_object_get(report, "differences"));
        json_decref(report);
    }
    return results;
}

/* Returns the first difference that is not a known deviation, or NULL. */
static const json_t *first_difference(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_object_get(json_array_get(list, i), "known_deviation"))
            return json_array_get(list, i);
    return NULL;
}

/* Appends one line about the result of a capture: its error, or its first difference. */
static void add_result(struct strbuf *t, const struct result *result)
{
    const struct job *job = result->job;
    const json_t *d = first_difference(result->differences);
    char text[DIFF_TEXT_MAX];

    if (job->error)
        strbuf_addf(t, "%s", job->error);
    else if (d)
        strbuf_addf(
            t, "frame %" JSON_INTEGER_FORMAT ": %s",
            json_integer_value(json_object_get(d, "frame")),
            diff_text(text, text_of(d, "field"), text_of(d, "recorded"), text_of(d, "replayed")));
    if (job->expected != OUTCOME_PASS)
        strbuf_addf(t, "%sexpected %s", t->len ? "; " : "", outcome_name(job->expected));
}

/* ---- parts of the page -------------------------------------------------------------------------
 */

static void add_lead(struct strbuf *t, const struct suite_totals *totals,
                     const struct result *results, size_t cnt)
{
    const char *sep = " ";

    if (cnt == 1) {
        strbuf_addf(t, "%s: ", outcome_name(results[0].job->outcome));
        if (results[0].job->outcome == OUTCOME_PASS)
            strbuf_addf(t, "our RNIC behaves as the recorded device");
        add_result(t, &results[0]);
        return;
    }
    strbuf_addf(t, "%zu captures:", totals->captures);
    for (int i = 0; i < OUTCOME_CNT; i++)
        if (totals->outcome[i]) {
            strbuf_addf(t, "%s%zu %s", sep, totals->outcome[i], outcome_name((enum outcome)i));
            sep = ", ";
        }
    for (size_t i = 0; i < cnt; i++) {
        const struct job *job = results[i].job;

        if (job_as_expected(job))
            continue;
        strbuf_addf(t, "; %s of %s: ", outcome_name(job->outcome), job->item->path);
        add_result(t, &results[i]);
        break;
    }
}

/* Returns an array with the results in the order of the page: first the captures with an unexpected
 * outcome, then the others. Returns NULL if out of memory. The caller frees the array. */
static const struct result **list_in_order(const struct result *results, size_t cnt)
{
    const struct result **order = malloc((cnt ? cnt : 1) * sizeof(*order));
    size_t n = 0;

    for (int expected = 0; order && expected < 2; expected++)
        for (size_t i = 0; i < cnt; i++)
            if (job_as_expected(results[i].job) == expected)
                order[n++] = &results[i];
    return order;
}

static void write_results(FILE *out, const struct result *results,
                          const struct result *const *order, size_t cnt)
{
    results_begin(out, "Capture");
    for (size_t i = 0; i < cnt; i++) {
        const struct job *job = order[i]->job;
        char about[512];
        struct strbuf t = strbuf_of(about, sizeof(about));

        add_result(&t, order[i]);
        results_row(out, outcome_name(job->outcome), job_as_expected(job), job->item->path, about,
                    job->outcome == OUTCOME_FAIL ? (size_t)(order[i] - results) + 1 : 0);
    }
    results_end(out);
}

static void write_difference(FILE *out, const json_t *d)
{
    char place[64], reason[320];
    struct strbuf t = strbuf_of(reason, sizeof(reason));
    const char *known = text_of(d, "known_deviation");
    const struct difference_row row = {.place = place,
                                       .field = text_of(d, "field"),
                                       .expected = text_of(d, "recorded"),
                                       .actual = text_of(d, "replayed"),
                                       .reason = reason,
                                       .rule = json_string_value(json_object_get(d, "rule"))};

    snprintf(place, sizeof(place), "frame %" JSON_INTEGER_FORMAT ", %s",
             json_integer_value(json_object_get(d, "frame")), text_of(d, "as"));
    if (*known)
        strbuf_addf(&t, "known deviation %s: ", known);
    strbuf_addf(&t, "%s", text_of(d, "reason"));
    differences_row(out, &row);
}

static void write_section(FILE *out, const struct result *result, size_t number)
{
    const struct job *job = result->job;

    section_begin(out, number, outcome_name(job->outcome), job->item->path);
    section_text(out, "Our RNIC takes the place of one end, and its packets are compared with the "
                      "recorded ones. \"Recorded\" is the value in the capture, \"replayed\" the "
                      "value of our RNIC, or with --live the value of the target.");
    differences_begin(out, "Recorded", "Replayed");
    for (size_t i = 0; i < json_array_size(result->differences); i++)
        write_difference(out, json_array_get(result->differences, i));
    differences_end(out);
    fputs(job->ladders ? job->ladders : "", out);
    section_end(out);
}

int replay_page_write(FILE *out, const struct suite_totals *totals, const struct job *jobs,
                      size_t cnt, const char *folder, const struct narrow *narrow,
                      struct error *error)
{
    char title[512], lead[1024];
    struct strbuf t = strbuf_of(lead, sizeof(lead));
    struct result *results = parse_results(jobs, cnt);
    const struct result **order = results ? list_in_order(results, cnt) : NULL;
    struct page page;
    unsigned graphs = 0;
    int rc = 0;

    if (!order) {
        free_results(results, cnt);
        return error_set(error, "out of memory while writing the HTML page");
    }
    add_lead(&t, totals, results, cnt);
    if (folder || cnt == 1)
        snprintf(title, sizeof(title), "%s", folder ? folder : jobs[0].item->path);
    else
        snprintf(title, sizeof(title), "%zu captures", cnt);
    page_begin_results(&page, out, title, lead, suite_status(totals) == 0);
    if (cnt > 1)
        write_results(out, results, order, cnt);
    for (size_t i = 0; i < cnt; i++)
        if (order[i]->job->outcome == OUTCOME_FAIL)
            write_section(out, order[i], (size_t)(order[i] - results) + 1);
    for (size_t i = 0; i < cnt && rc == 0 && graphs < PAGE_CHECKS; i++) {
        const char *path = order[i]->job->item->path;

        if (order[i]->job->outcome != OUTCOME_FAIL || strcmp(path, "-") == 0)
            continue;
        rc = page_check(&page, path, narrow, error);
        graphs++;
    }
    free(order);
    free_results(results, cnt);
    page_end(&page);
    return rc;
}
