/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests of the output of `rocedrill check` as text, JSON and JUnit. */
#include <stdlib.h>
#include <string.h>
#include "flow/base/rules.h"
#include "page/page_texts.h"
#include "replay/checkrun.h"
#include "support/suite.h"
#include "util/strbuf.h"

#define LOSS "$C/rc-loss-atomic-write.pcap"

/* ---- the text report ---------------------------------------------------------------------------
 */

static void text_answers_why_it_failed_first(void)
{
    static const struct {
        const char *capture, *words[4];
    } cases[] = {
        {"rc-retry-exhausted.pcap", {"did not respond", "IBV_WC_RETRY_EXC_ERR (12)", "timeout"}},
        {"rc-rnr-exhausted.pcap",
         {"had no receive buffer", "IBV_WC_RNR_RETRY_EXC_ERR (13)", "RNR NAK"}},
        {"rc-bad-rkey-write.pcap", {"refused", "IBV_WC_REM_ACCESS_ERR (10)", "R_Key", "rkey 0x"}},
        {"rc-unaligned-atomic.pcap", {"refused", "not a multiple of 8"}},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct checkrun r = checkrun("check $C/%s", cases[i].capture);
        const char *why = strstr(r.out, "failures:"), *conns = strstr(r.out, "\nconnections:");

        if (!why)
            why = strstr(r.out, "stuck connections:");

        CU_ASSERT_TRUE(why && conns && why < conns);
        for (unsigned k = 0; why && k < 4 && cases[i].words[k]; k++)
            if (!strstr(why, cases[i].words[k]))
                suite_fail(__FILE__, __LINE__, "%s: no \"%s\" in: %s", cases[i].capture,
                           cases[i].words[k], why);
        checkrun_free(&r);
    }
}

static unsigned lines_of(const char *text)
{
    unsigned cnt = 0;

    for (; (text = strchr(text, '\n')) != NULL; text++)
        cnt++;
    return cnt;
}

/* The report prints the control bytes of a file name as escapes, so that they never reach the
 * terminal. */
static void control_bytes_are_escaped(void)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain name.pcap", "plain name.pcap"},
        {"", ""},
        {"a\nb\rc\td", "a\\nb\\rc\\td"},
        {"\x1b[2J\x7f", "\\x1b[2J\\x7f"},
        {"\303\251 \342\206\222 \360\237\230\200", "\303\251 \342\206\222 \360\237\230\200"},
        {"\302\233m", "\\xc2\\x9bm"},                 /* C1 control CSI */
        {"\377\233", "\\xff\\x9b"},                   /* invalid UTF-8 */
        {"\303", "\\xc3"},                            /* truncated after one byte */
        {"\342\206", "\\xe2\\x86"},                   /* truncated after two bytes */
        {"\300\233", "\\xc0\\x9b"},                   /* ESC in overlong encoding */
        {"\355\240\200", "\\xed\\xa0\\x80"},          /* a surrogate, which UTF-8 cannot encode */
        {"\364\220\200\200", "\\xf4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *shown = NULL;
        size_t len;
        FILE *out = open_memstream(&shown, &len);

        put_escaped(out, cases[i].text);
        fclose(out);
        CU_ASSERT_STRING_EQUAL(shown, cases[i].shown);
        free(shown);
    }
}

static void text_is_a_summary_unless_verbose(void)
{
    struct checkrun r = checkrun_shell("$GEN -n 20000 -c 500 | $R check -"), v;

    EXPECT_EQ(r.status, 0);
    CU_ASSERT_TRUE(lines_of(r.out) < 50);
    v = checkrun_shell("$GEN -n 20000 -c 500 | $R check -v -");
    CU_ASSERT_TRUE(lines_of(v.out) > 1000);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "more (-v)"));
    checkrun_free(&r);
    checkrun_free(&v);
}

/* ---- the JSON report ---------------------------------------------------------------------------
 */

static void json_totals_equal_the_findings(void)
{
    struct checkrun r = checkrun("check --json - $C/multi-qp.pcap " LOSS " $C/cm-lost-peer.pcap");
    json_t *lines = checkrun_json(r.out);
    json_int_t severities[3] = {0}, conns = 0, rules = 0;
    static const char *const names[3] = {"note", "warning", "error"};
    static const char *const keys[3] = {"notes", "warnings", "errors"};

    EXPECT_EQ(checkrun_count(lines, "summary"), 3);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *o = json_array_get(lines, i), *v;
        const char *type = json_string_value(json_object_get(o, "type")), *key;

        CU_ASSERT_TRUE(json_is_string(json_object_get(o, "file")));
        if (strcmp(type, "connection") == 0) {
            conns++;
            CU_ASSERT_TRUE(json_is_object(json_object_get(o, "a")));
            CU_ASSERT_TRUE(json_is_object(json_object_get(o, "b")));
        } else if (strcmp(type, "finding") == 0) {
            for (unsigned s = 0; s < 3; s++)
                severities[s] +=
                    strcmp(json_string_value(json_object_get(o, "severity")), names[s]) == 0;
            rules++;
            CU_ASSERT_NOT_EQUAL(roce_rule_find(json_string_value(json_object_get(o, "rule"))),
                                ROCE_RULE_CNT);
            CU_ASSERT_TRUE(checkrun_number(o, "frame") > 0);
        } else if (strcmp(type, "summary") == 0) {
            EXPECT_EQ(checkrun_number(o, "connections"), conns);
            for (unsigned s = 0; s < 3; s++)
                EXPECT_EQ(checkrun_number(o, keys[s]), severities[s]);
            json_object_foreach(json_object_get(o, "rules"), key, v) rules -= json_integer_value(v);
            EXPECT_EQ(rules, 0);
            memset(severities, 0, sizeof(severities));
            conns = 0;
        } else {
            CU_ASSERT_STRING_EQUAL(type, "alias");
        }
    }
    json_decref(lines);
    checkrun_free(&r);
}

static void expect_drawn(struct packet_run *run, uint32_t cnt, const char *text)
{
    struct packet_runs runs = {.run = run, .cnt = cnt};
    char buf[256] = "";
    FILE *out = fmemopen(buf, sizeof(buf), "w");

    page_texts_drawn(out, &runs);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(buf, text);
}

static void page_says_whether_packets_with_a_finding_are_drawn_alone(void)
{
    static struct packet_run alone[] = {{.cnt = 5}, {.cnt = 1, .marks = RUN_MARK_FINDING}},
                             together[] = {{.cnt = 5, .marks = RUN_MARK_FINDING}};

    expect_drawn(alone, 2,
                 "5 packets are drawn together with neighbours; packets with a finding are drawn "
                 "alone.");
    expect_drawn(together, 1,
                 "5 packets are drawn together with neighbours; packets with a finding are drawn "
                 "together, too.");
}

/* The responder's two NAKs have connection number 1 until the check pairs the directions, because
 * their PSN is far from the PSNs of the requests. The second NAK also has a pad count that an ACK
 * cannot have, and a finding of connection 0 is between them. */
static void json_has_one_alias_line_for_a_replaced_number(void)
{
    struct checkrun r = checkrun_shell(
        "$R edit -q --impair set=bth.psn=5000@frame=4 $C/rc-reordering.pcap $T/far.pcapng && "
        "$R edit -q --impair dup@frame=4 $T/far.pcapng $T/twice.pcapng && "
        "$R edit -q --impair 'set=bth.padcnt=1@frame=5;reorder=1@frame=5' $T/twice.pcapng "
        "$T/alias.pcapng && $R check --json - $T/alias.pcapng");
    json_t *lines = checkrun_json(r.out);
    unsigned named = 0;

    for (size_t i = 0; i < json_array_size(lines); i++)
        named += strcmp(json_string_value(json_object_get(json_array_get(lines, i), "type")),
                        "finding") == 0 &&
                 checkrun_number(json_array_get(lines, i), "connection") == 1;
    CU_ASSERT_TRUE(named >= 2);
    EXPECT_EQ(checkrun_count(lines, "alias"), 1);
    json_decref(lines);
    checkrun_free(&r);
}

static void json_says_how_a_connection_ended(void)
{
    struct checkrun r = checkrun("check --json - $C/rc-bad-rkey-write.pcap");
    json_t *lines = checkrun_json(r.out), *conn = checkrun_first(lines, "connection");
    const json_t *end = json_object_get(conn, "end"), *a = json_object_get(conn, "a");

    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(conn, "verdict")), "holds");
    CU_ASSERT_TRUE(json_is_true(json_object_get(conn, "failed")));
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(end, "kind")), "nak");
    EXPECT_EQ(checkrun_number(end, "syndrome"), 0x62);
    EXPECT_EQ(checkrun_number(end, "frame"), 6);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(a, "address")), "192.0.2.1");
    EXPECT_EQ(checkrun_number(a, "packets"), 4);
    EXPECT_EQ(
        checkrun_number(json_object_get(json_object_get(a, "operations"), "write"), "completed"),
        1);
    json_decref(lines);
    checkrun_free(&r);
}

static void json_marks_what_is_known(void)
{
    struct checkrun r = checkrun("check --quirks linux-rxe-6.12 --json - " LOSS);
    json_t *lines = checkrun_json(r.out), *summary = checkrun_first(lines, "summary");
    bool seen = false;

    EXPECT_EQ(r.status, 0);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *o = json_array_get(lines, i);
        const char *rule = json_string_value(json_object_get(o, "rule"));

        if (rule && strcmp(rule, "RC-REQ-153") == 0) {
            seen = true;
            CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(o, "severity")), "error");
            CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(o, "known")), "D17");
        }
    }
    CU_ASSERT_TRUE(seen);
    CU_ASSERT_TRUE(checkrun_number(summary, "errors") > 0);
    EXPECT_EQ(checkrun_number(summary, "errors_unknown"), 0);
    json_decref(lines);
    checkrun_free(&r);
}

/* ---- the JUnit report --------------------------------------------------------------------------
 */

static unsigned occurrences(const char *text, const char *word)
{
    unsigned cnt = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        cnt++;
    return cnt;
}

/* Percentages are rounded to integers; percentages below 10 % have one decimal.
 * tests/replay/page/browser_test.js has the same table. */
static void percents_are_rounded(void)
{
    static const struct {
        uint64_t part, whole;
        const char *text;
    } rows[] = {
        {0, 7, "0 %"},   {1, 3000, "< 0.1 %"},   {1, 200, "0.5 %"}, {1, 11, "9.1 %"},
        {6, 14, "43 %"}, {1, 8, "13 %"},         {1, 3, "33 %"},    {399, 400, "100 %"},
        {7, 7, "100 %"}, {999, 10000, "10.0 %"},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buf[32];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        strbuf_add_percent(&t, rows[i].part, rows[i].whole);
        CU_ASSERT_STRING_EQUAL(buf, rows[i].text);
    }
}

/* Returns whether an XML text is well formed, as far as JUnit reports need: nested tags, paired
 * quotes, no bare '<' or '&'. */
static bool well_formed(const char *xml)
{
    char stack[16][32];
    unsigned depth = 0;

    if (strncmp(xml, "<?xml", 5) != 0)
        return false;
    for (const char *p = strstr(xml, "?>") + 2; *p; p++) {
        size_t len;

        if (*p == '&' && strncmp(p, "&amp;", 5) != 0 && strncmp(p, "&lt;", 4) != 0 &&
            strncmp(p, "&gt;", 4) != 0 && strncmp(p, "&quot;", 6) != 0)
            return false;
        if (*p != '<')
            continue;
        if (p[1] == '/') {
            len = strcspn(p + 2, ">");
            if (depth == 0 || strlen(stack[--depth]) != len || strncmp(stack[depth], p + 2, len))
                return false;
            p += 2 + len;
            continue;
        }
        len = strcspn(p + 1, " >/");
        if (depth == 16 || len == 0 || len >= sizeof(stack[0]))
            return false;
        snprintf(stack[depth++], sizeof(stack[0]), "%.*s", (int)len, p + 1);
        for (p += 1 + len; *p && *p != '>'; p++)
            if (*p == '"' && !(p = strchr(p + 1, '"')))
                return false;
        if (!*p)
            return false;
        if (p[-1] == '/')
            depth--;
    }
    return depth == 0;
}

static void junit_is_well_formed(void)
{
    struct checkrun r = checkrun_shell(
        "cp " LOSS
        " \"$T/a<b>&'\\\"c.pcap\"; $R check --quirks none --junit - \"$T/a<b>&'\\\"c.pcap\" "
        "$T/none.pcap $C/multi-qp.pcap");

    EXPECT_EQ(r.status, 2);
    CU_ASSERT_TRUE(well_formed(r.out));
    EXPECT_EQ(occurrences(r.out, "<testsuite "), 3);
    EXPECT_EQ(occurrences(r.out, "<error "), 1);
    EXPECT_EQ(occurrences(r.out, "<failure type=\"RC-REQ-153\" message=\"frame "), 1);
    EXPECT_EQ(occurrences(r.out, ": ERROR RC-REQ-153: "), 1);
    EXPECT_EQ(occurrences(r.out, "failures=\"1\""), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "a&lt;b&gt;&amp;"));
    checkrun_free(&r);
    r = checkrun("check --quirks linux-rxe-6.12 --junit - " LOSS);
    EXPECT_EQ(r.status, 0);
    CU_ASSERT_TRUE(well_formed(r.out));
    EXPECT_EQ(occurrences(r.out, "<failure"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "[known deviation D17]"));
    checkrun_free(&r);
}

/* A test case fails if its connection causes the exit status 1, and the message is the headline. */
static void junit_has_a_failure_for_each_result_of_fail_on(void)
{
    CHECKRUN_EXPECT("$R check --fail-on slow --junit - $C/rc-loss-request-last.pcap", 1,
                    "failures=\"1\"", "");
    CHECKRUN_EXPECT("$R check --fail-on slow --junit - $C/rc-loss-request-last.pcap", 1,
                    "<failure type=\"slow\" message=\"", "");
    CHECKRUN_EXPECT("$R check --fail-on slow --junit - $C/rc-loss-request-last.pcap "
                    "| grep -c 'was slow: it spent 86 % of its 78 ms waiting'",
                    0, "1", "");
    CHECKRUN_EXPECT("$R check --fail-on failed --junit - $C/rc-loss-request-last.pcap", 0,
                    "failures=\"0\"", "");
    CHECKRUN_EXPECT("$R check --fail-on failed --junit - $C/rc-retry-exhausted.pcap", 1,
                    "<failure type=\"failed\" message=\"", "");
    CHECKRUN_EXPECT("$R check --fail-on note --junit - $C/rc-loss-request-last.pcap | grep -c "
                    "'failure type=\"RC-'",
                    0, "", "");
}

SUITE("replay.check_output", TEST(text_answers_why_it_failed_first),
      TEST(control_bytes_are_escaped), TEST(text_is_a_summary_unless_verbose),
      TEST(json_totals_equal_the_findings),
      TEST(page_says_whether_packets_with_a_finding_are_drawn_alone),
      TEST(json_has_one_alias_line_for_a_replaced_number), TEST(json_says_how_a_connection_ended),
      TEST(json_marks_what_is_known), TEST(junit_is_well_formed),
      TEST(junit_has_a_failure_for_each_result_of_fail_on), TEST(percents_are_rounded))
