/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/check_junit.h"

#include <inttypes.h>
#include <string.h>
#include "check/causes/slow_causes.h"
#include "check/headline.h"
#include "util/strbuf.h"
#include "util/xml_escape.h"

static void put_group(FILE *out, const struct finding_group *g)
{
    char buf[1024];

    fprintf(out, "frame %u: %s %s", g->first.frame, roce_severity_name(g->first.severity),
            roce_rule_info(g->first.rule)->id);
    if (g->cnt > 1)
        fprintf(out, " (%" PRIu64 " times)", g->cnt);
    fputs(": ", out);
    xml_escape(out, roce_finding_text(&g->first, buf, sizeof(buf)));
}

static bool finding_fails(const struct finding_group *g, enum fail_on fail_on)
{
    switch (g->first.severity) {
    case ROCE_SEV_ERROR: return !g->first.known;
    case ROCE_SEV_WARN: return fail_on >= FAIL_ON_WARN;
    default: return fail_on >= FAIL_ON_NOTE;
    }
}

/* Returns the word of --fail-on for the state that makes a connection fail the check, or NULL. */
static const char *conn_fault(const struct roce_conn_summary *sum, enum fail_on fail_on)
{
    if (fail_on >= FAIL_ON_FAILED && (check_conn_failed(sum) || check_conn_stuck(sum)))
        return "failed";
    return fail_on == FAIL_ON_SLOW && check_conn_slow(sum) ? "slow" : NULL;
}

/* Prints the findings of connection `stream`: first a <failure> element for each group of findings
 * that fails the check, then all other groups in one <system-out> element. */
static void put_findings(FILE *out, const struct check_report *r, enum fail_on fail_on,
                         uint32_t stream)
{
    uint32_t cnt;
    const struct finding_group *g = finding_groups_of(&r->groups, stream, &cnt);
    bool any = false;

    for (uint32_t i = 0; i < cnt; i++) {
        if (!finding_fails(&g[i], fail_on)) {
            any = true;
            continue;
        }
        fprintf(out, "      <failure type=\"%s\" message=\"", roce_rule_info(g[i].first.rule)->id);
        put_group(out, &g[i]);
        fputs("\"/>\n", out);
    }
    if (!any)
        return;
    fputs("      <system-out>", out);
    for (uint32_t i = 0; i < cnt; i++)
        if (!finding_fails(&g[i], fail_on)) {
            put_group(out, &g[i]);
            fputc('\n', out);
        }
    fputs("</system-out>\n", out);
}

static void put_case(FILE *out, const struct check_report *r, const char *name, uint64_t ns)
{
    fputs("    <testcase classname=\"", out);
    xml_escape_name(out, r->name);
    fputs("\" name=\"", out);
    xml_escape(out, name);
    fprintf(out, "\" time=\"%.6f\">\n", (double)ns / 1e9);
}

static void put_conn(FILE *out, const struct check_report *r, enum fail_on fail_on,
                     const struct roce_conn_summary *sum)
{
    const char *fault = conn_fault(sum, fail_on);
    char buf[1024];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_addf(&t, "#%u ", sum->facts.conn_index);
    check_conn_title(&t, sum);
    put_case(out, r, buf, check_conn_duration_ns(sum));
    if (fault) {
        t = strbuf_of(buf, sizeof(buf));
        headline_conn(&t, sum, r->points);
        fprintf(out, "      <failure type=\"%s\" message=\"", fault);
        xml_escape(out, buf);
        fputs("\"/>\n", out);
    }
    put_findings(out, r, fail_on, sum->facts.conn_index);
    fputs("    </testcase>\n", out);
}

static void put_fault(FILE *out, const char *error)
{
    fputs("      <error type=\"unusable\" message=\"", out);
    xml_escape_name(out, error);
    fputs("\"/>\n", out);
}

/* Returns whether a finding of connection `stream` fails the check. */
static bool findings_fail(const struct check_report *r, enum fail_on fail_on, uint32_t stream)
{
    uint32_t cnt;
    const struct finding_group *g = finding_groups_of(&r->groups, stream, &cnt);

    for (uint32_t i = 0; i < cnt; i++)
        if (finding_fails(&g[i], fail_on))
            return true;
    return false;
}

/* Returns whether the test case of a connection gets a <failure> element. */
static bool conn_fails(const struct check_report *r, enum fail_on fail_on,
                       const struct roce_conn_summary *sum)
{
    return conn_fault(sum, fail_on) || findings_fail(r, fail_on, sum->facts.conn_index);
}

/* Numbers of connections that fail the check but are not in the list of the report. */
struct unlisted {
    uint64_t violated, failed, slow;
};

static struct unlisted count_unlisted(const struct check_report *r, enum fail_on fail_on)
{
    struct unlisted u = {.violated = r->violated,
                         .failed = fail_on >= FAIL_ON_FAILED ? r->failed + r->stuck : 0,
                         .slow = fail_on == FAIL_ON_SLOW ? r->slow : 0};

    for (uint32_t i = 0; i < r->conn_cnt; i++) {
        const struct roce_conn_summary *sum = &r->conn[i].sum;

        u.violated -= u.violated && check_conn_errors(sum);
        u.failed -= u.failed && (check_conn_failed(sum) || check_conn_stuck(sum));
        u.slow -= u.slow && check_conn_slow(sum);
    }
    return u;
}

/* Prints a failure that stands for `cnt` connections that are not in the list of the report. Prints
 * nothing if `cnt` is 0. */
static void put_unlisted(FILE *out, uint64_t cnt, const char *text)
{
    if (cnt)
        fprintf(out, "      <failure message=\"%" PRIu64 " more connections %s\"/>\n", cnt, text);
}

void check_junit_begin(FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"rocedrill check\">\n",
          out);
}

void check_junit_add(FILE *out, const struct check_report *r, enum fail_on fail_on)
{
    const struct unlisted u = count_unlisted(r, fail_on);
    uint64_t ns =
        r->counts.last_time > r->counts.first_time ? r->counts.last_time - r->counts.first_time : 0;
    uint64_t rest = r->ended - r->conn_cnt, failures = findings_fail(r, fail_on, ROCE_NO_CONN);

    for (uint32_t i = 0; i < r->conn_cnt; i++)
        failures += conn_fails(r, fail_on, &r->conn[i].sum);
    failures += u.violated || u.failed || u.slow;
    fputs("  <testsuite name=\"", out);
    xml_escape_name(out, r->name);
    fprintf(out, "\" tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%d\" time=\"%.6f\">\n",
            (uint64_t)r->conn_cnt + 1 + (rest != 0), failures, r->error != NULL, (double)ns / 1e9);
    put_case(out, r, "capture", ns);
    put_findings(out, r, fail_on, ROCE_NO_CONN);
    if (r->error)
        put_fault(out, r->error);
    fputs("    </testcase>\n", out);
    for (uint32_t i = 0; i < r->conn_cnt; i++)
        put_conn(out, r, fail_on, &r->conn[i].sum);
    if (rest) {
        put_case(out, r, "all other connections", 0);
        put_unlisted(out, u.violated, "violate rules");
        put_unlisted(out, u.failed, "failed or got stuck");
        put_unlisted(out, u.slow, "were slow");
        fputs("    </testcase>\n", out);
    }
    fputs("  </testsuite>\n", out);
}

void check_junit_fault(FILE *out, const char *name, const char *error)
{
    const struct check_report none = {.name = name, .error = error};

    check_junit_add(out, &none, FAIL_ON_ERROR);
}

void check_junit_end(FILE *out)
{
    fputs("</testsuites>\n", out);
}

/* ---- test suites of other machines -------------------------------------------------------------
 */

/* Elements of the test suites that check_junit_add() prints. '*' stands for any escaped text. */
#define SUITE_BEGIN "  <testsuite name=\"*\" tests=\"*\" failures=\"*\" errors=\"*\" time=\"*\">\n"
#define CASE_BEGIN  "    <testcase classname=\"*\" name=\"*\" time=\"*\">\n"
static const char *const case_elements[] = {
    "      <failure type=\"*\" message=\"*\"/>\n",
    "      <failure message=\"*\"/>\n",
    "      <error type=\"*\" message=\"*\"/>\n",
    "      <system-out>*</system-out>\n",
};

/* Returns the number of bytes of the character at `p`. Returns 0 if escaped text cannot contain
 * this character. */
static size_t escaped_len(const char *p)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;"};

    if (*p == '&') {
        for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
            if (strncmp(p, entities[i], strlen(entities[i])) == 0)
                return strlen(entities[i]);
        return 0;
    }
    if ((unsigned char)*p < 0x20)
        return *p == '\n' || *p == '\t';
    if (strncmp(p, "\xEF\xBF\xBE", 3) == 0 || strncmp(p, "\xEF\xBF\xBF", 3) == 0)
        return 0; /* U+FFFE and U+FFFF are not XML characters */
    return *p != '<' && *p != '>' && *p != '"';
}

/* If the text at *at begins with an element, moves *at after the element and returns true.
 * Otherwise returns false. */
static bool skip_element(const char **at, const char *element)
{
    const char *p = *at;

    for (; *element; element++) {
        size_t len;

        if (*element != '*' && *p++ != *element)
            return false;
        while (*element == '*' && (len = escaped_len(p)) > 0)
            p += len;
    }
    *at = p;
    return true;
}

static bool skip_case_element(const char **at)
{
    for (size_t i = 0; i < sizeof(case_elements) / sizeof(case_elements[0]); i++)
        if (skip_element(at, case_elements[i]))
            return true;
    return false;
}

bool check_junit_is_suite(const char *text)
{
    if (!skip_element(&text, SUITE_BEGIN))
        return false;
    while (skip_element(&text, CASE_BEGIN)) {
        while (skip_case_element(&text))
            ;
        if (!skip_element(&text, "    </testcase>\n"))
            return false;
    }
    return skip_element(&text, "  </testsuite>\n") && !*text;
}
