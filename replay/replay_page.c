/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "replay_page.h"

#include <stdlib.h>
#include <string.h>
#include "check/check.h"
#include "engine/base/diff.h"
#include "page/difference.h"
#include "page/page.h"
#include "util/strbuf.h"

/* Maximum number of connections in the text report of a capture, which is part of the page. */
#define CONNS_LISTED 64u

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Returns the differences of a capture, or NULL if out of memory. The caller releases them. */
static json_t *differences_of(const struct job *job)
{
    json_t *report = job_json(job);
    json_t *list = json_incref(json_object_get(report, "differences"));

    json_decref(report);
    return list;
}

/* Returns the first difference that is not a known deviation, or NULL. */
static const json_t *first_difference(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_object_get(json_array_get(list, i), "known_deviation"))
            return json_array_get(list, i);
    return NULL;
}

/* Appends one line that describes the result of a capture: the error, or the first difference. */
static void add_result(struct strbuf *t, const struct job *job)
{
    json_t *list = job->outcome == OUTCOME_FAIL ? differences_of(job) : NULL;
    const json_t *d = first_difference(list);
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
    json_decref(list);
}

/* ---- parts of the page -------------------------------------------------------------------------
 */

static void add_lead(struct strbuf *t, const struct suite_totals *totals, const struct job *jobs,
                     size_t cnt)
{
    const char *sep = " ";

    if (cnt == 1) {
        strbuf_addf(t, "%s: ", outcome_name(jobs[0].outcome));
        if (jobs[0].outcome == OUTCOME_PASS)
            strbuf_addf(t, "our RNIC behaves as the recorded device");
        add_result(t, &jobs[0]);
        return;
    }
    strbuf_addf(t, "%zu captures:", totals->captures);
    for (int i = 0; i < OUTCOME_CNT; i++)
        if (totals->outcome[i]) {
            strbuf_addf(t, "%s%zu %s", sep, totals->outcome[i], outcome_name((enum outcome)i));
            sep = ", ";
        }
    for (size_t i = 0; i < cnt; i++) {
        if (job_as_expected(&jobs[i]))
            continue;
        strbuf_addf(t, "; %s of %s: ", outcome_name(jobs[i].outcome), jobs[i].item->path);
        add_result(t, &jobs[i]);
        break;
    }
}

/* Returns an array with the jobs in the order of the page: first those with an unexpected result,
 * then the others. Returns NULL if out of memory. The caller frees the array. */
static const struct job **list_in_order(const struct job *jobs, size_t cnt)
{
    const struct job **order = malloc(cnt * sizeof(*order));
    size_t n = 0;

    for (int expected = 0; order && expected < 2; expected++)
        for (size_t i = 0; i < cnt; i++)
            if (job_as_expected(&jobs[i]) == expected)
                order[n++] = &jobs[i];
    return order;
}

static void write_results(FILE *out, const struct job *jobs, const struct job *const *order,
                          size_t cnt)
{
    results_begin(out, "Capture");
    for (size_t i = 0; i < cnt; i++) {
        const struct job *job = order[i];
        char about[512];
        struct strbuf t = strbuf_of(about, sizeof(about));

        add_result(&t, job);
        results_row(out, outcome_name(job->outcome), job_as_expected(job), job->item->path, about,
                    job->outcome == OUTCOME_FAIL ? (size_t)(job - jobs) + 1 : 0);
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

static void write_section(FILE *out, const struct job *job, size_t number)
{
    json_t *list = differences_of(job);

    section_begin(out, number, outcome_name(job->outcome), job->item->path);
    section_text(out, "Our RNIC takes the place of one end, and its packets are compared with the "
                      "recorded ones. \"Recorded\" is the value in the capture, \"replayed\" the "
                      "value of our RNIC, or with --live the value of the target.");
    differences_begin(out, "Recorded", "Replayed");
    for (size_t i = 0; i < json_array_size(list); i++)
        write_difference(out, json_array_get(list, i));
    differences_end(out);
    json_decref(list);
    fputs(job->ladders ? job->ladders : "", out);
    section_end(out);
}

/* Checks a capture and adds its graphs to the page. Returns 0, or -1 and an error. */
static int add_graphs(struct page *page, const char *path, const struct narrow *narrow,
                      struct error *error)
{
    struct page_capture *capture = page_capture_new(path);
    const struct check_watch watch = page_capture_watch(capture);
    const struct check_options options = {.keep_history = true,
                                          .conn_max = CONNS_LISTED,
                                          .profile = ROCE_PROFILE_AUTO,
                                          .narrow = narrow,
                                          .watch = &watch,
                                          .watch_cnt = 1};
    const struct page_selection all = {.conn = NULL};
    struct check_report report;
    int rc;

    if (!capture)
        return error_set(error, "%s: no memory for the page", path);
    rc = check_capture(path, &options, &report, error);
    if (rc == 0 && page_add(page, capture, &report, 0, &all) != 0)
        rc = error_set(error, "%s: no memory for the page", path);
    check_report_free(&report);
    page_capture_del(capture);
    return rc;
}

int replay_page_write(FILE *out, const struct suite_totals *totals, const struct job *jobs,
                      size_t cnt, const char *folder, const struct narrow *narrow,
                      struct error *error)
{
    char title[512], lead[1024];
    struct strbuf t = strbuf_of(lead, sizeof(lead));
    const struct job **order = list_in_order(jobs, cnt);
    struct page page;
    unsigned graphs = 0;
    int rc = 0;

    if (!order)
        return error_set(error, "no memory for the page");
    add_lead(&t, totals, jobs, cnt);
    if (folder || cnt == 1)
        snprintf(title, sizeof(title), "%s", folder ? folder : jobs[0].item->path);
    else
        snprintf(title, sizeof(title), "%zu captures", cnt);
    page_begin_results(&page, out, title, lead, suite_status(totals) == 0);
    if (cnt > 1)
        write_results(out, jobs, order, cnt);
    for (size_t i = 0; i < cnt; i++)
        if (order[i]->outcome == OUTCOME_FAIL)
            write_section(out, order[i], (size_t)(order[i] - jobs) + 1);
    for (size_t i = 0; i < cnt && rc == 0 && graphs < REPLAY_PAGE_GRAPHS; i++)
        if (order[i]->outcome == OUTCOME_FAIL && strcmp(order[i]->item->path, "-") != 0) {
            rc = add_graphs(&page, order[i]->item->path, narrow, error);
            graphs++;
        }
    free(order);
    page_end(&page);
    return rc;
}
