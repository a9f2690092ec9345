/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* rocedrill check: arguments and exit status. */
#include <stdlib.h>
#include <string.h>
#include "flow/base/rules.h"
#include "replay/checkrun.h"
#include "support/suite.h"

/* Three captures: one without a violation, one with a violation, and one with a QP that fails
 * without a violation. */
#define HOLDS    "$C/rc-send-sizes.pcap"
#define VIOLATES "$C/rc-loss-atomic-write.pcap"
#define FAILS    "$C/rc-retry-exhausted.pcap"

static void expect_status(int status, const char *arguments)
{
    struct checkrun r = checkrun("%s", arguments);

    if (r.status != status)
        suite_fail(__FILE__, __LINE__, "%s: expected status %d, actual %d: %s", arguments, status,
                   r.status, r.err);
    if (status < 2)
        CU_ASSERT_STRING_EQUAL(r.err, "");
    checkrun_free(&r);
}

static void says_what_is_wrong_in_one_line(void)
{
    checkrun_refused("check", "no capture given");
    checkrun_refused("check --bogus x", "rocedrill: check: unrecognized option '--bogus'");
    checkrun_refused("check --jsno x", "unrecognized option '--jsno'; did you mean '--json'?");
    checkrun_refused("check --j x", "option '--j' is ambiguous");
    checkrun_refused("check --quiet=3 x", "option '--quiet' doesn't allow an argument");
    checkrun_refused("check -z x", "invalid option -- 'z'");
    checkrun_refused("check --quiet -zv x", "invalid option -- 'z'");
    checkrun_refused("check --annotate - " HOLDS " >/dev/full", "standard output");
    checkrun_refused("check --json", "option '--json' requires an argument");
    checkrun_refused("check -j", "option requires an argument -- 'j'");
    checkrun_refused("check $T/none.pcap", "none.pcap: No such file");
    checkrun_refused("check $T", "the folder contains no capture");
    checkrun_refused("check --quirks nobody " HOLDS, "linux-rxe-6.1");
    checkrun_refused("check --quirks nothing " HOLDS, "linux-rxe-6.1");
    checkrun_refused("check --explain RC-NO-999", "RC-NO-999");
    checkrun_refused("check - - <" HOLDS, "only once");
    checkrun_refused("check --annotate $T/x " HOLDS " " HOLDS, "--annotate");
    checkrun_refused("check --json - --junit - " HOLDS, "standard output");
    checkrun_refused("check --json $T/no/such/folder " HOLDS, "such/folder");
    checkrun_refused("check --json $T/x --junit $T/x " HOLDS, "x is used for two outputs");
    checkrun_refused("check --annotate $T/no/such/folder " HOLDS, "such/folder");
    /* The error message for a file name with a line feed and an escape sequence is one line that
     * prints both as escapes. */
    checkrun_refused("check \"$(printf 'no\\nsuch\\033[2J')\"", "no\\nsuch\\x1b[2J: No such file");
    checkrun_refused("replay \"$(printf 'no\\nsuch\\033[2J')\"", "no\\nsuch\\x1b[2J");
}

static void former_option_names_are_accepted(void)
{
    CHECKRUN_EXPECT("$R check -q --peer linux-rxe-6.12 " VIOLATES, 0, "",
                    "rocedrill: check: option '--peer' is now '--quirks'");
    CHECKRUN_EXPECT("$R check -q --at-once " HOLDS, 0, "",
                    "option '--at-once' is now '--immediate'");
    CHECKRUN_EXPECT("$R replay -q --closed --edit drop@p=0 " HOLDS " 2>&1", 0,
                    "option '--closed' is now '--closed-loop'\n"
                    "rocedrill: replay: option '--edit' is now '--impair'\n",
                    "");
    CHECKRUN_EXPECT("$R add -q --shows x --to $T/former " HOLDS " 2>&1", 0,
                    "command 'add' is now 'import'\n"
                    "rocedrill: import: option '--shows' is now '--description'\n",
                    "");
    CHECKRUN_EXPECT("$R replay -q --closed-l " HOLDS, 0, "", "");
}

static void a_name_cannot_steer_the_terminal(void)
{
    struct checkrun r =
        checkrun_shell("n=$(printf 'two\\nlines\\033[31m\\302\\233\\377\\303\\251'); "
                       "cp " VIOLATES " \"$T/$n\"; cd \"$T\"; "
                       "$R check --quirks none --immediate \"$n\"; rm \"$n\"");
    static const char name[] = "two\\nlines\\x1b[31m\\xc2\\x9b\\xff\303\251: ";

    CU_ASSERT_EQUAL(strncmp(r.out, name, strlen(name)), 0);
    CU_ASSERT_EQUAL(strncmp(r.err, name, strlen(name)), 0);
    checkrun_free(&r);
}

static void gives_three_kinds_of_status(void)
{
    expect_status(0, "check " HOLDS);
    expect_status(1, "check --quirks none " VIOLATES);
    expect_status(0, "check " VIOLATES); /* without --quirks, the program recognises the peer and
                                          * its known deviations */
    expect_status(1, "check --quirks linux-rxe-6.1 " VIOLATES);
    expect_status(0, "check --quirks linux-rxe-6.12 " VIOLATES);
    expect_status(0, "check " FAILS);
    expect_status(1, "check --quirks none -q " HOLDS " " VIOLATES " " HOLDS);
    expect_status(0, "check --help");
    expect_status(0, "check --rules");
    expect_status(2, "check -q " VIOLATES " $T/none.pcap " HOLDS);
}

static void fails_on_less_when_asked(void)
{
    expect_status(0, "check -q " FAILS);
    expect_status(0, "check -q --fail-on error " FAILS);
    expect_status(1, "check -q --fail-on failed " FAILS);
    expect_status(1, "check -q --fail-on note " FAILS);
    expect_status(0, "check -q --fail-on failed " HOLDS);
    expect_status(1, "check -q --fail-on failed $C/cm-reject.pcap");
    expect_status(0, "check -q --fail-on slow " HOLDS);
    expect_status(0, "check -q --fail-on failed $C/rc-late-responses.pcap");
    expect_status(1, "check -q --fail-on slow $C/rc-late-responses.pcap");
    expect_status(1, "check -q --fail-on warn " HOLDS); /* the capture has a WARN finding, because
                                                         * its MigReq bits are 0 */
    checkrun_refused("check --fail-on never " HOLDS, "--fail-on never");
}

static void does_not_overwrite_its_input(void)
{
    struct checkrun r = checkrun_shell("cp " HOLDS " $T/in.pcap && ln -sf in.pcap $T/link.pcap && "
                                       "$R check --annotate $T/link.pcap $T/in.pcap");

    EXPECT_EQ(r.status, 2);
    CU_ASSERT_TRUE(checkrun_complains(&r, "link.pcap"));
    checkrun_free(&r);
    checkrun_refused("check --json $T/in.pcap - <$T/in.pcap",
                     "in.pcap: this output would overwrite");
    checkrun_refused("check --annotate $T/link.pcap - <$T/in.pcap",
                     "this output would overwrite an input capture");
    checkrun_refused("check --json - $T/in.pcap >>$T/in.pcap",
                     "standard output: this output would");
    expect_status(0, "check -q $T/in.pcap");
}

/* The folder has captures that hold and violate, one that is not a capture, one in a subfolder, a
 * compressed one, and files that check skips. */
static void a_folder_is_checked_in_the_order_of_names(void)
{
    static const struct {
        const char *name, *verdict;
        json_int_t status;
    } want[] = {{"B.pcap", "skipped", 2},
                {"a.pcap", "violated", 1},
                {"b/2.pcap", "holds", 0},
                {"c.pcap.gz", "holds", 0}};
    struct checkrun r = checkrun_shell(
        "d=$T/order; rm -rf $d; mkdir -p $d/b $d/.hidden; gzip -c " HOLDS " >$d/c.pcap.gz; "
        "cp " HOLDS " $d/b/2.pcap; cp " VIOLATES " $d/a.pcap; cp $d/a.pcap $d/.hidden; "
        "cp $d/a.pcap $d/.a.pcap; echo text | tee $d/B.pcap >$d/readme.txt; "
        "$R check --quirks none --json $T/order.json $d/");
    char *text = checkrun_read(checkrun_path("order.json"));
    json_t *lines = checkrun_json(text), *line;
    const char *report = r.out;
    size_t i, cnt = 0;

    EXPECT_EQ(r.status, 2);
    CU_ASSERT_TRUE(checkrun_complains(&r, "order/B.pcap: not a capture file"));
    json_array_foreach(lines, i, line)
    {
        const char *file = json_string_value(json_object_get(line, "file"));
        size_t len = strlen(want[cnt].name);

        if (strcmp(json_string_value(json_object_get(line, "type")), "summary") != 0)
            continue;
        CU_ASSERT_TRUE(strlen(file) > len && file[strlen(file) - len - 1] == '/');
        CU_ASSERT_STRING_EQUAL(file + strlen(file) - len, want[cnt].name);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(line, "verdict")),
                               want[cnt].verdict);
        EXPECT_EQ(checkrun_number(line, "exit_status"), want[cnt].status);
        if (want[cnt].status < 2) /* the text has the captures in the same order */
            report = strstr(report, file) ?: "";
        if (++cnt == sizeof(want) / sizeof(want[0]))
            break;
    }
    EXPECT_EQ(cnt, sizeof(want) / sizeof(want[0]));
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "\n4 captures: 2 passed, 1 failed, 1 unusable\n"));
    json_decref(lines);
    free(text);
    checkrun_free(&r);
    CHECKRUN_EXPECT("rm $T/order/B.pcap; $R check --quirks none $T/order", 1,
                    "\n3 captures: 2 passed, 1 failed\n", "");
    CHECKRUN_EXPECT("rm $T/order/a.pcap; $R check --quirks none $T/order", 0,
                    "\n2 captures: 2 passed\n", "");
}

/* Two outputs to the same file are refused, even if the file does not exist yet and the two paths
 * to it differ. */
static void two_outputs_in_one_file_are_refused(void)
{
    struct checkrun r = checkrun_shell("cd $T && mkdir -p sub && rm -f one && "
                                       "$R check --json one --junit sub/../one " HOLDS);

    CU_ASSERT_TRUE(checkrun_complains(&r, "sub/../one is used for two outputs"));
    checkrun_free(&r);
    checkrun_refused("check --json - --junit $T/one " HOLDS " >$T/one", "used for two outputs");
    expect_status(0, "check -q --json $T/one --junit $T/sub/one " HOLDS);
}

static void is_silent_when_asked(void)
{
    struct checkrun r = checkrun("check --quirks none -q " VIOLATES);

    EXPECT_EQ(r.status, 1);
    CU_ASSERT_STRING_EQUAL(r.out, "");
    CU_ASSERT_STRING_EQUAL(r.err, "");
    checkrun_free(&r);
}

static void lists_and_explains_rules(void)
{
    struct checkrun all = checkrun("check --rules"), one;
    const char *line = all.out;
    unsigned rules = 0;

    for (; *line; line = strchr(line, '\n') + 1)
        rules++;
    EXPECT_EQ(rules, ROCE_RULE_CNT);
    /* --rules lists every rule, and --explain explains each rule that a capture can violate. */
    for (unsigned i = 0; i < ROCE_RULE_CNT; i++) {
        const struct roce_rule_info *rule = roce_rule_info((enum roce_rule)i);

        CU_ASSERT_PTR_NOT_NULL(strstr(all.out, rule->id));
        if (rule->judge != ROCE_JUDGE_FLOW || i % 16 != 0)
            continue;
        one = checkrun("check --explain %s", rule->id);
        EXPECT_EQ(one.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(one.out, rule->id));
        CU_ASSERT_PTR_NOT_NULL(strstr(one.out, "source:"));
        checkrun_free(&one);
    }
    checkrun_free(&all);
    one = checkrun("check --explain rc-rsp-112"); /* rule ids are also accepted in lowercase */
    EXPECT_EQ(one.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(one.out, "RC-RSP-112"));
    checkrun_free(&one);
}

static unsigned long number_of(const struct roce_rule_info *rule)
{
    return strtoul(strrchr(rule->id, '-') + 1, NULL, 10);
}

static void explains_by_number(void)
{
    static const char *const other[] = {"RC-REQ-012", "rc-req-12", "X-12"};
    struct checkrun right = checkrun("check --explain ALL-NET-012"), alone;

    for (unsigned i = 0; i < 3; i++) {
        struct checkrun r = checkrun("check --explain %s", other[i]);
        const char *rest = strstr(r.out, "\n\n");

        EXPECT_EQ(r.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "this number is ALL-NET-012:\n\n"));
        CU_ASSERT_STRING_EQUAL(rest ? rest + 2 : "", right.out);
        checkrun_free(&r);
    }
    alone = checkrun("check --explain 012");
    CU_ASSERT_STRING_EQUAL(alone.out, right.out);
    checkrun_free(&alone);
    checkrun_free(&right);
    CHECKRUN_EXPECT("$R check --explain d4", 0,
                    "D4  known deviation\n\n  the response to a restarted READ begins", "");
    CHECKRUN_EXPECT("$R check --explain D17", 0,
                    "implementations:\n  linux-rxe-6.12 (Linux Soft-RoCE, kernel 6.12)\n\n"
                    "violated rules (--explain RULE): RC-REQ-153\n",
                    "");
    checkrun_refused("check --explain D2", "unknown rule 'D2'");
    checkrun_refused("check --explain 999", "unknown rule '999'");
    checkrun_refused("check --explain RC-REQ-12x", "unknown rule 'RC-REQ-12x'");
    checkrun_refused("check --explain RC-REQ-", "unknown rule 'RC-REQ-'");
    checkrun_refused("check --explain 99999999999999999999999", "unknown rule");
    checkrun_refused("check --explain ''", "unknown rule ''");
    /* No two rules have the same number. */
    for (unsigned i = 0; i < ROCE_RULE_CNT; i++)
        for (unsigned j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(number_of(roce_rule_info((enum roce_rule)i)),
                                number_of(roce_rule_info((enum roce_rule)j)));
}

SUITE("replay.check", TEST(says_what_is_wrong_in_one_line), TEST(former_option_names_are_accepted),
      TEST(gives_three_kinds_of_status), TEST(fails_on_less_when_asked),
      TEST(does_not_overwrite_its_input), TEST(a_folder_is_checked_in_the_order_of_names),
      TEST(two_outputs_in_one_file_are_refused), TEST(is_silent_when_asked),
      TEST(a_name_cannot_steer_the_terminal), TEST(lists_and_explains_rules),
      TEST(explains_by_number))
