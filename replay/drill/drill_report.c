/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/drill_report.h"

#include <stdlib.h>
#include <string.h>
#include "flow/base/rules.h"
#include "util/cli_opts.h"
#include "util/json_util.h"
#include "util/strbuf.h"
#include "util/xml_escape.h"

#define ARROW_WIDTH 86u /* width of the ladder, columns */
#define GROUP_MAX   64u /* maximum number of rows of the totals */
#define LADDER_ROWS 40u /* rows of a ladder, without --verbose */

int drill_case_status(const struct drill_case *c, bool strict)
{
    enum drill_verdict v = c->result.verdict;

    if (c->unusable)
        return EXIT_UNUSABLE;
    return v == DRILL_FAIL || (strict && (v == DRILL_KNOWN || v == DRILL_INCONCLUSIVE))
               ? EXIT_DIFFERS
               : EXIT_HOLDS;
}

int drill_suite_status(const struct drill_suite *suite, bool strict)
{
    int status = suite->left ? EXIT_UNUSABLE : EXIT_HOLDS;

    for (size_t i = 0; i < suite->cnt && status != EXIT_UNUSABLE; i++) {
        int one = drill_case_status(&suite->at[i], strict);

        status = one > status ? one : status;
    }
    return status;
}

const char *drill_case_verdict(const struct drill_case *c)
{
    return c->unusable ? "unusable" : drill_verdict_name(c->result.verdict);
}

/* Writes one line, "LINE: PROBLEM (RULE)", that describes why a case did not pass. */
static void case_problem(const struct drill_case *c, char *buf, size_t cap)
{
    struct strbuf t = strbuf_of(buf, cap);

    if (c->unusable) {
        strbuf_addf(&t, "%s", c->error.text);
        return;
    }
    if (c->result.line)
        strbuf_addf(&t, "line %u: ", c->result.line);
    if (c->result.verdict == DRILL_KNOWN)
        strbuf_addf(&t, "known deviation %s%s", c->result.known, *c->result.problem ? "; " : "");
    strbuf_addf(&t, "%s", c->result.problem);
    if (*c->result.rules)
        strbuf_addf(&t, " (%s)", c->result.rules);
}

/* ---- printing a ladder ----------------------------------------------------------------------- */

static size_t columns_of(const char *text)
{
    size_t cnt = 0;

    for (; *text; text++)
        cnt += ((unsigned char)*text & 0xC0) != 0x80;
    return cnt;
}

static void print_arrow_line(FILE *out, size_t cnt)
{
    while (cnt-- > 0)
        fputs("─", out);
}

/* Prints the end of a row of the ladder: its mark. If the row differs from a line of the drill,
 * also prints FILE:LINE. */
static void print_mark(FILE *out, const struct drill_case *c, const struct drill_log_row *row)
{
    static const char *const marks[] = {"", " ✓", " ✗", " ≈"};
    const char *slash = strrchr(c->path, '/');

    fputs(marks[row->mark], out);
    if (row->mark == DRILL_MARK_DIFF && row->line) {
        fputc(' ', out);
        put_escaped(out, slash ? slash + 1 : c->path);
        fprintf(out, ":%u", row->line);
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const struct drill_case *c, const struct drill_log_row *row)
{
    size_t used = columns_of(row->text) + 4;
    size_t rest = used < ARROW_WIDTH ? ARROW_WIDTH - used : 2;
    char line[16] = "";

    if (row->line)
        snprintf(line, sizeof(line), "%u", row->line);
    fprintf(out, "  %5s %12.6f ", line, (double)row->time / 1e6);
    if (!row->frame) {
        fprintf(out, "│ %s", row->text);
        print_mark(out, c, row);
    } else if (row->from_dut) {
        fputs("│◀", out);
        print_arrow_line(out, rest);
        fprintf(out, " %s ─┤", row->text);
        print_mark(out, c, row);
    } else {
        fprintf(out, "├─ %s ", row->text);
        print_arrow_line(out, rest);
        fputs("▶│\n", out);
    }
}

/* Prints the last `max` rows of the log. */
static void print_ladder(FILE *out, const struct drill_case *c, size_t max)
{
    size_t cnt = c->result.log_cnt, from = cnt > max ? cnt - max : 0;

    if (cnt == 0)
        return;
    fprintf(out, "  %5s %12s drill%*sdevice\n", "line", "ms", (int)ARROW_WIDTH - 8, "");
    if (from)
        fprintf(out, "  %19s⋮\n", "");
    for (size_t i = from; i < cnt; i++)
        if (c->result.log[i].text)
            print_row(out, c, &c->result.log[i]);
}

void drill_repeat_command(FILE *out, const struct drill_case *c)
{
    fprintf(out, "rocedrill drill %s", c->device_options ? c->device_options : "");
    if (*c->variant)
        fprintf(out, "--only '%s' ", c->variant);
    put_shell_word(out, c->path);
}

/* Returns the requirement of a rule. */
static const char *requirement_of(enum roce_rule rule)
{
    static const struct {
        const char *id, *text;
    } rows[] = {
#define REQUIREMENT(id, text) {id, text},
#include "drill/requirements.def"
#undef REQUIREMENT
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].id, roce_rule_info(rule)->id) == 0)
            return rows[i].text;
    return roce_rule_info(rule)->text;
}

/* Prints the requirement of a rule, with its evidence. */
static void print_rule(FILE *out, const char *indent, const char *id)
{
    enum roce_rule rule = roce_rule_find(id);

    if (rule != ROCE_RULE_CNT)
        fprintf(out, "    %s%s: %s (evidence: %s)\n", indent, id, requirement_of(rule),
                roce_rule_info(rule)->source);
}

/* Prints the rules that the failed line names. If the line names no rule, prints the purpose of the
 * drill and the rules that the drill names. */
static void print_rules(FILE *out, const struct drill_case *c)
{
    const char *ids = c->result.rules;

    if (!*ids && c->script.purpose)
        fprintf(out, "    purpose: %s\n", c->script.purpose);
    if (!*ids && c->script.rule_cnt)
        fprintf(out, "    %sthe drill as a whole tests:\n",
                c->result.line ? "the failed line names no rule; " : "");
    for (unsigned i = 0; !*ids && i < c->script.rule_cnt; i++)
        print_rule(out, "  ", c->script.rule[i]);
    for (; *ids; ids += strcspn(ids, " "), ids += *ids == ' ') {
        char id[SCRIPT_NAME_MAX];

        snprintf(id, sizeof(id), "%.*s", (int)strcspn(ids, " "), ids);
        print_rule(out, "", id);
    }
}

/* Prints a case that did not pass: the line, the difference, the ladder, and the command that
 * repeats the case. */
static void print_problem(FILE *out, const struct drill_case *c)
{
    const struct drill_result *r = &c->result;

    if (c->ladder) {
        fputs(c->ladder, out);
        return;
    }
    fprintf(out, "  ");
    put_escaped(out, c->path);
    if (r->line)
        fprintf(out, ":%u:%u", r->line, r->column);
    fprintf(out, "%s%s%s: %s", *c->variant ? " (" : "", c->variant, *c->variant ? ")" : "",
            drill_case_verdict(c));
    if (*r->rules)
        fprintf(out, " [%s]", r->rules);
    if (r->verdict == DRILL_KNOWN)
        fprintf(out, " %s", r->known);
    fputc('\n', out);
    if (r->line && r->line <= c->script.line_cnt)
        fprintf(out, "    %s\n", c->script.line[r->line - 1]);
    if (*r->problem)
        fprintf(out, "    %s\n", r->problem);
    if (r->verdict == DRILL_UNSUPPORTED)
        return;
    print_rules(out, c);
    print_ladder(out, c, LADDER_ROWS);
    fputs("  to repeat: ", out);
    drill_repeat_command(out, c);
    fputc('\n', out);
}

/* Prints a case with its ladder, whatever its verdict is. */
static void print_case(FILE *out, const struct drill_case *c)
{
    if (c->result.verdict != DRILL_PASS) {
        print_problem(out, c);
        return;
    }
    if (*c->variant)
        fprintf(out, "  (%s): pass\n", c->variant);
    print_ladder(out, c, c->result.log_cnt);
}

/* ---- the text report ------------------------------------------------------------------------- */

/* Returns the number of cases of one drill. A case is a drill with one combination of its variants.
 * The cases of a drill follow one another; `i` is the first of them. */
static size_t drill_cases(const struct drill_suite *suite, size_t i)
{
    size_t cnt = 1;

    while (i + cnt < suite->cnt && suite->at[i + cnt].path == suite->at[i].path)
        cnt++;
    return cnt;
}

/* Returns the case with the worst verdict among the cases of one drill. */
static const struct drill_case *worst_case(const struct drill_case *c, size_t cnt)
{
    static const uint8_t weight[] = {[DRILL_PASS] = 0,
                                     [DRILL_UNSUPPORTED] = 1,
                                     [DRILL_INCONCLUSIVE] = 2,
                                     [DRILL_KNOWN] = 3,
                                     [DRILL_FAIL] = 4};
    const struct drill_case *worst = c;

    for (size_t i = 0; i < cnt; i++) {
        if (c[i].unusable)
            return &c[i];
        if (weight[c[i].result.verdict] > weight[worst->result.verdict])
            worst = &c[i];
    }
    return worst;
}

/* Returns the number of cases of one drill with the same verdict as the case `like`. */
static size_t cases_like(const struct drill_case *c, size_t cnt, const struct drill_case *like)
{
    size_t same = 0;

    for (size_t i = 0; i < cnt; i++)
        same += c[i].unusable == like->unusable && c[i].result.verdict == like->result.verdict;
    return same;
}

struct group_row {
    const char *name;
    unsigned len;
    unsigned left;                       /* number of cases that were not played */
    unsigned cnt[DRILL_VERDICT_CNT + 1]; /* number of drills with each verdict; the last element
                                          * counts unusable drills */
};

static unsigned group_len(const struct drill_case *c)
{
    const char *slash = memchr(c->name, '/', c->name_len);

    return slash ? (unsigned)(slash - c->name) : 0;
}

static struct group_row *find_group(struct group_row *row, unsigned *cnt,
                                    const struct drill_case *c)
{
    unsigned len = group_len(c);

    for (unsigned i = 0; i < *cnt; i++)
        if (row[i].len == len && strncmp(row[i].name, c->name, len) == 0)
            return &row[i];
    if (*cnt == GROUP_MAX)
        return &row[GROUP_MAX - 1];
    row[*cnt] = (struct group_row){.name = c->name, .len = len};
    return &row[(*cnt)++];
}

/* Prints the number of drills with each verdict. `left`: the run stopped early, so the table has a
 * column with the number of cases that were not played. */
static void print_table(FILE *out, const struct group_row *row, unsigned cnt, bool left)
{
    struct group_row sum = {.name = "all", .len = 3};

    fprintf(out, "%-20s %6s %6s %6s %13s %12s %9s%s\n", "group", "pass", "known", "fail",
            "inconclusive", "unsupported", "unusable", left ? "  not run" : "");
    for (unsigned i = 0; i <= cnt; i++) {
        const struct group_row *r = i < cnt ? &row[i] : &sum;

        fprintf(out, "%-20.*s %6u %6u %6u %13u %12u %9u", (int)(r->len ? r->len : 1),
                r->len ? r->name : ".", r->cnt[DRILL_PASS], r->cnt[DRILL_KNOWN], r->cnt[DRILL_FAIL],
                r->cnt[DRILL_INCONCLUSIVE], r->cnt[DRILL_UNSUPPORTED], r->cnt[DRILL_VERDICT_CNT]);
        if (left)
            fprintf(out, " %8u", r->left);
        fputc('\n', out);
        sum.left += i < cnt ? r->left : 0;
        for (unsigned k = 0; i < cnt && k <= DRILL_VERDICT_CNT; k++)
            sum.cnt[k] += r->cnt[k];
    }
}

/* Returns what a verdict means, or NULL if its name says so. `v`: a verdict, or DRILL_VERDICT_CNT
 * for unusable drills. */
static const char *meaning(unsigned v)
{
    switch (v) {
    case DRILL_KNOWN:
        return "known: the device deviates from the specification only in ways that the drill "
               "lists; traces/linux-rxe.md describes ids such as D10";
    case DRILL_INCONCLUSIVE:
        return "inconclusive: the specification permits what the device did, but the drill cannot "
               "test its purpose then";
    case DRILL_UNSUPPORTED: return "unsupported: the device lacks a feature that the drill needs";
    case DRILL_VERDICT_CNT: return "unusable: the drill cannot be parsed or was not run";
    default: return NULL;
    }
}

/* Prints the meaning of the columns of the table that are not 0, and of the rows of ladders. */
static void print_legend(FILE *out, const struct group_row *row, unsigned cnt, bool ladders)
{
    for (unsigned v = 0; v <= DRILL_VERDICT_CNT; v++) {
        bool any = false;

        for (unsigned i = 0; i < cnt; i++)
            any |= row[i].cnt[v] > 0;
        if (any && meaning(v))
            fprintf(out, "%s\n", meaning(v));
    }
    if (ladders)
        fputs("ladders: the rows are in the order of the events; line: the line of the drill; ms: "
              "the time of the drill, which is virtual without --live and passes only while the "
              "drill waits\n",
              out);
}

void drill_text(FILE *out, const struct drill_suite *suite, const char *device,
                enum drill_detail detail)
{
    struct group_row group[GROUP_MAX];
    unsigned group_cnt = 0;

    for (size_t i = 0; i < suite->cnt;) {
        size_t cnt = drill_cases(suite, i);
        const struct drill_case *c = worst_case(&suite->at[i], cnt);
        size_t same = cases_like(&suite->at[i], cnt, c);
        struct group_row *row = find_group(group, &group_cnt, c);

        row->cnt[c->unusable ? DRILL_VERDICT_CNT : (unsigned)c->result.verdict]++;
        if (detail != DRILL_QUIET || c->unusable || c->result.verdict != DRILL_PASS) {
            fprintf(out, "%-12s %.*s", drill_case_verdict(c), (int)c->name_len, c->name);
            if (cnt > 1 && same < cnt)
                fprintf(out, " (%zu of %zu variants)", same, cnt);
            else if (cnt > 1)
                fprintf(out, " (%zu variants)", cnt);
            fputc('\n', out);
        }
        if (c->unusable)
            fprintf(out, "  %s\n", c->error.text);
        else if (detail == DRILL_VERBOSE)
            for (size_t k = i; k < i + cnt; k++)
                print_case(out, &suite->at[k]);
        else if (c->result.verdict != DRILL_PASS)
            print_problem(out, c);
        else if (detail == DRILL_NORMAL && cnt == suite->cnt + suite->left && c->script.purpose)
            fprintf(out, "  shown: %s\n", c->script.purpose);
        i += cnt;
    }
    for (size_t i = suite->cnt; i < suite->cnt + suite->left && suite->cnt; i++) {
        fprintf(out, "not run      %.*s%s%s\n", (int)suite->at[i].name_len, suite->at[i].name,
                *suite->at[i].variant ? " " : "", suite->at[i].variant);
        find_group(group, &group_cnt, &suite->at[i])->left++;
    }
    if (group_cnt)
        print_table(out, group, group_cnt, suite->left > 0);
    if (detail != DRILL_QUIET && group_cnt && *device) {
        fputs("device: ", out);
        put_escaped(out, device);
        fputc('\n', out);
    }
    if (detail != DRILL_QUIET)
        print_legend(out, group, group_cnt, detail == DRILL_VERBOSE);
}

/* ---- the KTAP report ------------------------------------------------------------------------- */

void drill_tap(FILE *out, const struct drill_suite *suite, bool strict)
{
    char problem[1400];

    fprintf(out, "KTAP version 1\n1..%zu\n", suite->cnt + suite->left);
    for (size_t i = 0; i < suite->cnt; i++) {
        const struct drill_case *c = &suite->at[i];
        enum drill_verdict v = c->result.verdict;
        bool ok = drill_case_status(c, strict) == EXIT_HOLDS;

        case_problem(c, problem, sizeof(problem));
        if (!ok)
            fprintf(out, "# %.*s: %s\n", (int)c->name_len, c->name, problem);
        fprintf(out, "%s %zu %.*s%s%s", ok ? "ok" : "not ok", i + 1, (int)c->name_len, c->name,
                *c->variant ? " " : "", c->variant);
        if (ok && v != DRILL_PASS)
            fprintf(out, " # %s %s: %s", v == DRILL_KNOWN ? "XFAIL" : "SKIP", drill_case_verdict(c),
                    problem);
        fputc('\n', out);
    }
    if (suite->left)
        fprintf(out, "Bail out! %s\n", suite->stopped.text);
}

/* ---- the JUnit report ------------------------------------------------------------------------ */

/* Prints the start of a test case. The attribute `classname` is the path of the file, because
 * drills in different folders can have the same name. */
static void print_testcase(FILE *out, const struct drill_case *c)
{
    char name[400];

    snprintf(name, sizeof(name), "%.*s%s%s", (int)c->name_len, c->name, *c->variant ? " " : "",
             c->variant);
    fputs("    <testcase classname=\"", out);
    xml_escape_name(out, c->path);
    fputs("\" name=\"", out);
    xml_escape_name(out, name);
    fputc('"', out);
}

static void print_junit_case(FILE *out, const struct drill_case *c, bool strict)
{
    char problem[1400];

    case_problem(c, problem, sizeof(problem));
    print_testcase(out, c);
    if (!c->unusable && c->result.verdict == DRILL_PASS) {
        fputs("/>\n", out);
        return;
    }
    fputs(">\n      ", out);
    fprintf(out, "<%s message=\"",
            c->unusable                                    ? "error"
            : drill_case_status(c, strict) == EXIT_DIFFERS ? "failure"
                                                           : "skipped");
    if (!c->unusable && c->result.verdict != DRILL_FAIL)
        fprintf(out, "%s: ", drill_case_verdict(c));
    xml_escape_name(out, problem);
    fputs("\"/>\n", out);
    fputs("    </testcase>\n", out);
}

/* Prints each case that was not played, as an error. */
static void print_junit_left(FILE *out, const struct drill_suite *suite)
{
    fprintf(out, "  <testsuite name=\"not run\" tests=\"%zu\" failures=\"0\" errors=\"%zu\">\n",
            suite->left, suite->left);
    for (size_t i = suite->cnt; i < suite->cnt + suite->left; i++) {
        print_testcase(out, &suite->at[i]);
        fputs("><error message=\"not run: ", out);
        xml_escape_name(out, suite->stopped.text);
        fputs("\"/></testcase>\n", out);
    }
    fputs("  </testsuite>\n", out);
}

void drill_junit(FILE *out, const struct drill_suite *suite, bool strict)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
    for (size_t i = 0; i < suite->cnt;) {
        unsigned len = group_len(&suite->at[i]), tests = 0, failures = 0, errors = 0, skipped = 0;
        size_t k = i;

        for (; k < suite->cnt && group_len(&suite->at[k]) == len &&
               strncmp(suite->at[k].name, suite->at[i].name, len) == 0;
             k++) {
            const struct drill_case *c = &suite->at[k];
            int status = drill_case_status(c, strict);

            tests++;
            errors += c->unusable;
            failures += status == EXIT_DIFFERS;
            skipped += status == EXIT_HOLDS && c->result.verdict != DRILL_PASS;
        }
        fprintf(out, "  <testsuite name=\"");
        if (len) {
            char name[256];

            snprintf(name, sizeof(name), "%.*s", (int)len, suite->at[i].name);
            xml_escape_name(out, name);
        } else {
            fputs("drills", out);
        }
        fprintf(out, "\" tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\">\n", tests,
                failures, errors, skipped);
        for (; i < k; i++)
            print_junit_case(out, &suite->at[i], strict);
        fputs("  </testsuite>\n", out);
    }
    if (suite->left)
        print_junit_left(out, suite);
    fputs("</testsuites>\n", out);
}

/* ---- the JSON report ------------------------------------------------------------------------- */

static json_t *id_list(const char (*list)[SCRIPT_NAME_MAX], unsigned cnt)
{
    json_t *json = json_array();

    for (unsigned i = 0; i < cnt; i++)
        json_array_append_new(json, json_string(list[i]));
    return json;
}

static json_t *case_json(const struct drill_case *c)
{
    const struct drill_result *r = &c->result;
    json_t *json;
    char name[400];

    if (c->json)
        return json_incref(c->json);
    json = json_object();
    snprintf(name, sizeof(name), "%.*s", (int)c->name_len, c->name);
    json_object_set_new(json, "name", json_lossy_string(name));
    json_object_set_new(json, "file", json_lossy_string(c->path));
    json_object_set_new(json, "variant", json_string(c->variant));
    json_object_set_new(json, "verdict", json_string(drill_case_verdict(c)));
    if (c->unusable) {
        json_object_set_new(json, "problem", json_lossy_string(c->error.text));
        return json;
    }
    json_object_set_new(json, "purpose", json_lossy_string(c->script.purpose));
    json_object_set_new(json, "rules", id_list(c->script.rule, c->script.rule_cnt));
    json_object_set_new(json, "coverage", id_list(c->script.coverage, c->script.coverage_cnt));
    if (*r->problem)
        json_object_set_new(json, "problem", json_lossy_string(r->problem));
    if (r->line)
        json_object_set_new(json, "line", json_integer(r->line));
    if (*r->rules)
        json_object_set_new(json, "rule", json_string(r->rules));
    if (*r->known)
        json_object_set_new(json, "known", json_string(r->known));
    if (*r->diff.field) {
        json_object_set_new(json, "field", json_string(r->diff.field));
        json_object_set_new(json, "expected", json_lossy_string(r->diff.expected));
        json_object_set_new(json, "actual", json_lossy_string(r->diff.actual));
    }
    if (c->recorded)
        json_object_set_new(json, "capture", json_lossy_string(c->recorded));
    return json;
}

/* Returns the reason why the run stopped, and a list of the cases that were not played. */
static json_t *stopped_json(const struct drill_suite *suite)
{
    json_t *list = json_array();

    for (size_t i = suite->cnt; i < suite->cnt + suite->left; i++) {
        const struct drill_case *c = &suite->at[i];
        char name[400];

        snprintf(name, sizeof(name), "%.*s", (int)c->name_len, c->name);
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:s}", "name", json_lossy_string(name), "file",
                                        json_lossy_string(c->path), "variant", c->variant));
    }
    return json_pack("{s:o, s:o}", "problem", json_lossy_string(suite->stopped.text), "not_run",
                     list);
}

json_t *drill_json(const struct drill_suite *suite, const char *device)
{
    unsigned totals[DRILL_VERDICT_CNT] = {0}, unusable = 0;
    json_t *json = json_object(), *drills = json_array(), *sums = json_object();

    if (!json || !drills || !sums) {
        json_decref(json);
        json_decref(drills);
        json_decref(sums);
        return NULL;
    }
    for (size_t i = 0; i < suite->cnt; i++) {
        const struct drill_case *c = &suite->at[i];

        json_array_append_new(drills, case_json(c));
        unusable += c->unusable;
        totals[c->result.verdict] += !c->unusable;
    }
    for (unsigned i = 0; i < DRILL_VERDICT_CNT; i++)
        json_object_set_new(sums, drill_verdict_name((enum drill_verdict)i),
                            json_integer(totals[i]));
    json_object_set_new(sums, "unusable", json_integer(unusable));
    json_object_set_new(json, "device", json_lossy_string(device));
    json_object_set_new(json, "totals", sums);
    json_object_set_new(json, "drills", drills);
    if (suite->left)
        json_object_set_new(json, "stopped", stopped_json(suite));
    return json;
}

/* Returns, as a JSON string, the text that `print` writes for a case. */
static json_t *printed(const struct drill_case *c,
                       void print(FILE *out, const struct drill_case *c))
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    json_t *json;

    if (!out)
        return NULL;
    print(out, c);
    fclose(out);
    json = json_lossy_string(text ? text : "");
    free(text);
    return json;
}

static void print_ladder_part(FILE *out, const struct drill_case *c)
{
    if (!c->unusable && c->result.verdict != DRILL_PASS)
        print_problem(out, c);
}

void drill_json_shard(json_t *json, const struct shard *shard, const struct drill_suite *suite,
                      struct drill_report_style style,
                      void sections(FILE *out, const struct drill_case *c))
{
    json_t *drills = json_object_get(json, "drills"), *head = shard_json(shard);

    json_object_set_new(head, "quiet", json_boolean(style.quiet));
    json_object_set_new(head, "strict", json_boolean(style.strict));
    json_object_set_new(json, "shard", head);
    for (size_t i = 0; i < suite->cnt; i++) {
        const struct drill_case *c = &suite->at[i];

        json_object_set_new(json_array_get(drills, i), "merge",
                            json_pack("{s:I, s:o, s:o}", "position", (json_int_t)c->position,
                                      "text", printed(c, print_ladder_part), "section",
                                      printed(c, sections)));
    }
}
