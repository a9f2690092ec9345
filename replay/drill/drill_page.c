/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/drill_page.h"

#include <stdlib.h>
#include <string.h>
#include "drill/drill_report.h"
#include "page/difference.h"
#include "page/ladder_svg.h"
#include "page/page_check.h"
#include "util/cli_opts.h"
#include "util/strbuf.h"

/* Maximum number of rows of a ladder. If a case has more rows, the ladder shows the last ones. */
#define ROWS_MAX 200u

static bool is_good(const struct drill_case *c, bool strict)
{
    return drill_case_status(c, strict) == EXIT_HOLDS;
}

static bool has_section(const struct drill_case *c)
{
    return c->unusable ||
           (c->result.verdict != DRILL_PASS && c->result.verdict != DRILL_UNSUPPORTED);
}

static void add_name(struct strbuf *t, const struct drill_case *c)
{
    strbuf_addf(t, "%.*s%s%s%s", (int)c->name_len, c->name, *c->variant ? " (" : "", c->variant,
                *c->variant ? ")" : "");
}

/* Describes the reason of a verdict. */
static void add_problem(struct strbuf *t, const struct drill_case *c)
{
    const struct drill_result *r = &c->result;

    if (!c->unusable && r->verdict == DRILL_KNOWN)
        strbuf_addf(t, "known deviation %s%s", r->known, *r->problem ? ": " : "");
    strbuf_addf(t, "%s", c->unusable ? c->error.text : r->problem);
}

/* ---- parts of the page -------------------------------------------------------------------------
 */

static void add_lead(struct strbuf *t, const struct drill_suite *suite, const char *device,
                     bool strict)
{
    const struct drill_case *bad = NULL;
    size_t cnt = 0, passed = 0;

    if (suite->left)
        strbuf_addf(t, "%s: the run stopped, %zu cases were not played: %s; ", device, suite->left,
                    suite->stopped.text);
    for (size_t i = 0; i < suite->cnt; i++) {
        const struct drill_case *c = &suite->at[i];

        passed += !c->unusable && c->result.verdict == DRILL_PASS;
        if (is_good(c, strict))
            continue;
        bad = bad ? bad : c;
        cnt++;
    }
    if (!cnt) {
        strbuf_addf(t, "%s: no drill failed, %zu of %zu cases passed", device, passed, suite->cnt);
        return;
    }
    strbuf_addf(t, "%s: %zu of %zu cases failed; ", device, cnt, suite->cnt);
    add_name(t, bad);
    strbuf_addf(t, ": ");
    add_problem(t, bad);
}

static const char *purpose_of(const struct drill_case *c)
{
    const char *text = json_string_value(json_object_get(c->json, "purpose"));

    return c->json ? (text ? text : "") : c->script.purpose;
}

static void write_results(FILE *out, const struct drill_suite *suite, bool strict)
{
    results_begin(out, "Drill");
    for (size_t i = 0; i < suite->cnt; i++) {
        const struct drill_case *c = &suite->at[i];
        char name[400], about[1200];
        struct strbuf t = strbuf_of(name, sizeof(name)), a = strbuf_of(about, sizeof(about));

        add_name(&t, c);
        add_problem(&a, c);
        results_row(out, drill_case_verdict(c), is_good(c, strict), name,
                    a.len ? about : purpose_of(c), has_section(c) ? i + 1 : 0);
    }
    results_end(out);
}

static void write_ladder(FILE *out, const struct drill_result *r)
{
    static const enum ladder_mark marks[] = {[DRILL_MARK_NONE] = LADDER_UNMARKED,
                                             [DRILL_MARK_OK] = LADDER_EQUAL,
                                             [DRILL_MARK_DIFF] = LADDER_DIFFERS,
                                             [DRILL_MARK_KNOWN] = LADDER_KNOWN};
    size_t from = r->log_cnt > ROWS_MAX ? r->log_cnt - ROWS_MAX : 0;
    struct ladder_drawing drawing = {.number_word = "line",
                                     .time_word = "ms",
                                     .end = {"drill", "device"},
                                     .expected_word = "expected",
                                     .actual_word = "actual",
                                     .more_before = from > 0};

    for (size_t i = from; i < r->log_cnt; i++) {
        const struct drill_log_row *row = &r->log[i];
        double ms = (double)row->time / 1e6;

        if (!row->text || strcmp(row->text, r->problem) == 0) /* the table above the ladder already
                                                               * contains this problem */
            continue;
        if (!row->frame) {
            ladder_svg_text(&drawing, row->line, ms, row->text);
            continue;
        }
        ladder_svg_arrow(&drawing, !row->from_dut, row->line, ms, row->text, marks[row->mark]);
        if (row->mark == DRILL_MARK_DIFF && *r->diff.field)
            ladder_svg_difference(&drawing, r->diff.field, r->diff.expected, r->diff.actual);
    }
    if (drawing.cnt)
        ladder_svg_write(out, &drawing);
    ladder_svg_free(&drawing);
}

static void write_difference(FILE *out, const struct drill_case *c)
{
    const struct drill_result *r = &c->result;
    char place[32] = "", reason[512];
    struct strbuf t = strbuf_of(reason, sizeof(reason));
    const struct difference_row row = {.place = place,
                                       .field = r->diff.field,
                                       .expected = r->diff.expected,
                                       .actual = r->diff.actual,
                                       .reason = reason,
                                       .rule = *r->rules ? r->rules : NULL};

    if (r->line)
        snprintf(place, sizeof(place), "line %u", r->line);
    add_problem(&t, c);
    differences_begin(out, "Expected", "Actual");
    differences_row(out, &row);
    differences_end(out);
}

static void write_command(FILE *out, const struct drill_case *c)
{
    char *text = NULL;
    size_t len;
    FILE *mem = open_memstream(&text, &len);

    if (!mem)
        return;
    drill_repeat_command(mem, c);
    fclose(mem);
    section_text(out, "To repeat it:");
    section_code(out, text ? text : "");
    free(text);
}

void drill_page_section(FILE *out, const struct drill_case *c)
{
    const struct drill_result *r = &c->result;

    if (!has_section(c))
        return;
    if (c->section) {
        fputs(c->section, out);
        return;
    }
    if (c->unusable) {
        section_text(out, c->error.text);
        return;
    }
    section_text(out, c->script.purpose);
    if (r->line && r->line <= c->script.line_cnt)
        section_code(out, c->script.line[r->line - 1]);
    write_difference(out, c);
    write_ladder(out, r);
    write_command(out, c);
}

static void write_section(FILE *out, const struct drill_case *c, size_t number)
{
    char name[400];
    struct strbuf t = strbuf_of(name, sizeof(name));

    add_name(&t, c);
    section_begin(out, number, drill_case_verdict(c), name);
    drill_page_section(out, c);
    section_end(out);
}

int drill_page_write(FILE *out, const struct drill_suite *suite, const char *device, bool strict,
                     struct error *error)
{
    char lead[1200];
    struct strbuf t = strbuf_of(lead, sizeof(lead));
    struct page page;
    unsigned graphs = 0;
    int rc = 0;

    add_lead(&t, suite, device, strict);
    page_begin_results(&page, out, device, lead, drill_suite_status(suite, strict) == EXIT_HOLDS);
    write_results(out, suite, strict);
    for (size_t i = 0; i < suite->cnt; i++)
        if (has_section(&suite->at[i]))
            write_section(out, &suite->at[i], i + 1);
    for (size_t i = 0; i < suite->cnt && rc == 0 && graphs < PAGE_CHECKS; i++) {
        const struct drill_case *c = &suite->at[i];

        if (!has_section(c) || !c->recorded || c->result.log_cnt == 0)
            continue;
        rc = page_check(&page, c->recorded, NULL, error);
        graphs++;
    }
    page_end(&page);
    return rc;
}
