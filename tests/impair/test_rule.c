/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the grammar of impairment rules: valid texts are parsed, and invalid ones cause an
 * error. */
#include <string.h>
#include "impair/impair_rule.h"
#include "support/suite.h"

/* probability `p` in units of 2^-32, rounded up; only for `p` for which p * 2^32 is not an
 * integer */
#define CHANCE(p) ((uint64_t)((p)*4294967296.0) + 1)

static struct impair_rules rules;

/* Parses a text into `rules` and returns its first rule. */
static const struct impair_rule *read_rules(const char *text, enum impair_use use)
{
    struct error error = {""};

    memset(&rules, 0, sizeof(rules));
    if (impair_rules_add(&rules, text, use, &error) != 0)
        suite_fail(__FILE__, __LINE__, "%s", error.text);
    return &rules.rule[0];
}

static void long_rules_are_read(void)
{
    const struct impair_rule *rule = read_rules("drop", IMPAIR_OFFLINE);

    CU_ASSERT(rule->action == IMPAIR_DROP && rule->kinds == IMPAIR_ANY);
    CU_ASSERT(rule->nth_to == UINT32_MAX && rule->chance == IMPAIR_ALWAYS);
    rule = read_rules("drop@psn=+3", IMPAIR_OFFLINE);
    CU_ASSERT(rule->psn && rule->relative && rule->psn_from == 3 && rule->psn_to == 3);
    CU_ASSERT(rule->nth_from == 1 && rule->nth_to == 1);
    rule = read_rules("dup=3@psn=+3..+9,nth=all,dir=response", IMPAIR_OFFLINE);
    CU_ASSERT(rule->cnt_max == 3 && rule->psn_to == 9 && rule->nth_to == UINT32_MAX);
    EXPECT_EQ(rule->kinds, IMPAIR_RESPONSE);
    rule = read_rules("delay=1.5ms@conn=2,p=0.25,nth=2..4", IMPAIR_OFFLINE);
    CU_ASSERT(rule->delay_min == 1500000 && rule->delay_max == 1500000 && rule->conn == 2);
    EXPECT_EQ(rule->chance, UINT64_C(1) << 30);
    CU_ASSERT(rule->nth_from == 2 && rule->nth_to == 4);
    rule = read_rules("corrupt=header+4@icrc=fix", IMPAIR_OFFLINE);
    CU_ASSERT(rule->part == IMPAIR_HEADER && rule->byte == 4 && !rule->keep_icrc);
    rule = read_rules("corrupt", IMPAIR_OFFLINE);
    CU_ASSERT(rule->part == IMPAIR_PAYLOAD && rule->byte == IMPAIR_ANY_BYTE && rule->keep_icrc);
    rule = read_rules("set=roce.aeth.syndrome=0x60", IMPAIR_OFFLINE);
    CU_ASSERT(rule->hdr == ROCE_HDR_AETH && rule->value == 0x60 && !rule->keep_icrc);
    rule = read_rules("set=ip4.src=10.0.0.7@op=read", IMPAIR_OFFLINE);
    CU_ASSERT(rule->bytes[0] == 10 && rule->bytes[3] == 7);
    CU_ASSERT_STRING_EQUAL(rule->op, "read");
    EXPECT_EQ(read_rules("set=eth.dst=02:00:00:00:00:09", IMPAIR_OFFLINE)->bytes[5], 9);
    EXPECT_EQ(read_rules("set=ip6.src=2001:db8::1", IMPAIR_OFFLINE)->bytes[15], 1);
    EXPECT_EQ(read_rules("reorder=5", IMPAIR_OFFLINE)->cnt_min, 5);
}

static void short_forms_are_read(void)
{
    const struct impair_rule *rule = read_rules(
        "loss=100%,dup=0.5,corrupt=0.1%,ecn=0,reorder=1%,delay=10us..1.5ms,dir=both", IMPAIR_LIVE);

    EXPECT_EQ(rules.cnt, 6);
    CU_ASSERT(rule[0].action == IMPAIR_DROP && rule[0].chance == IMPAIR_ALWAYS);
    CU_ASSERT(rule[1].action == IMPAIR_DUP && rule[1].chance == UINT64_C(1) << 31);
    CU_ASSERT(rule[1].cnt_max == 1);
    CU_ASSERT(rule[2].action == IMPAIR_CORRUPT && rule[2].chance == CHANCE(0.001));
    CU_ASSERT(rule[2].part == IMPAIR_FRAME && rule[2].keep_icrc);
    CU_ASSERT(rule[3].action == IMPAIR_ECN && rule[3].chance == 0);
    CU_ASSERT(rule[4].action == IMPAIR_REORDER && rule[4].chance == CHANCE(0.01));
    CU_ASSERT(rule[4].cnt_min == 1 && rule[4].cnt_max == 4);
    CU_ASSERT(rule[5].action == IMPAIR_DELAY && rule[5].delay_min == 10000);
    EXPECT_EQ(rule[5].delay_max, 1500000);
    for (size_t i = 0; i < rules.cnt; i++)
        EXPECT_EQ(rule[i].sides, IMPAIR_OUT | IMPAIR_IN);
    read_rules("", IMPAIR_LIVE);
    EXPECT_EQ(rules.cnt, 0);
    EXPECT_EQ(read_rules("delay=2s", IMPAIR_LIVE)->delay_max, 2000000000u);
}

/* The short form of a rule must mean the same as its long form. dup=1 is one copy, whether 1 is
 * read as a count or as a probability. */
static void short_and_long_forms_mean_the_same(void)
{
    static const char *const pairs[][2] = {
        {"loss=3%", "drop@p=0.03"},
        {"dup=2%", "dup@p=2%"},
        {"corrupt=.5", "corrupt=frame@p=0.5"},
        {"ecn=1e-1", "ecn@p=10%"},
        {"reorder=5%", "reorder=1..4@p=0.05"},
        {"dup=100%", "dup=1"},
        {"loss=3%@dir=in", "dir=in,loss=3%"},
        {"loss=0.1;dup=2", "loss=0.1,dup=2"},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct impair_rules first;

        read_rules(pairs[i][0], IMPAIR_LIVE);
        first = rules;
        read_rules(pairs[i][1], IMPAIR_LIVE);
        for (size_t k = 0; k < IMPAIR_RULES_MAX; k++) {
            memset(first.rule[k].text, 0, sizeof(first.rule[k].text));
            memset(rules.rule[k].text, 0, sizeof(rules.rule[k].text));
        }
        if (memcmp(&first, &rules, sizeof(rules)) != 0)
            suite_fail(__FILE__, __LINE__, "%s is not %s", pairs[i][0], pairs[i][1]);
    }
}

static void a_comma_ends_a_rule_where_an_action_follows(void)
{
    const struct impair_rule *rule =
        read_rules("drop@p=0.1,dir=response,delay=5us@op=read,nth=2,loss=1%", IMPAIR_OFFLINE);

    EXPECT_EQ(rules.cnt, 3);
    CU_ASSERT_STRING_EQUAL(rule[0].text, "drop@p=0.1,dir=response");
    CU_ASSERT_STRING_EQUAL(rule[1].text, "delay=5us@op=read,nth=2");
    CU_ASSERT_STRING_EQUAL(rule[2].text, "loss=1%");
    EXPECT_EQ(rule[1].kinds, IMPAIR_ANY);
}

/* An invalid text, the item in it that is wrong, and the expected syntax in the error. */
struct wrong {
    const char *text, *item, *expected;
};

static void expect_refused(const struct wrong *wrong, size_t cnt, enum impair_use use)
{
    for (size_t i = 0; i < cnt; i++) {
        struct impair_rules none = {.cnt = 0};
        struct error error = {""};
        char start[800];

        snprintf(start, sizeof(start), "\"%s\": at \"%s\": expected ", wrong[i].text,
                 wrong[i].item);
        if (impair_rules_add(&none, wrong[i].text, use, &error) == 0 || none.cnt != 0 ||
            strncmp(error.text, start, strlen(start)) != 0 ||
            !strstr(error.text + strlen(start), wrong[i].expected))
            suite_fail(__FILE__, __LINE__, "%s: %s", wrong[i].text, error.text);
    }
}

static void a_wrong_text_is_refused_with_place_and_expectation(void)
{
    static const struct wrong cases[] = {
        {"lose", "lose", "drop, dup"},
        {"los=3%", "los=3%", "drop, dup"},
        {"loss", "loss", "loss=CHANCE"},
        {"loss=", "loss=", "a probability"},
        {"loss=101%", "loss=101%", "a probability"},
        {"loss=1.5", "loss=1.5", "a probability"},
        {"loss=-1%", "loss=-1%", "a probability"},
        {"loss=3%%", "loss=3%%", "a probability"},
        {"loss=nan", "loss=nan", "a probability"},
        {"loss=3% dup=1%", "loss=3% dup=1%", "a probability"},
        {"loss=3%,", ",", "a rule after"},
        {",loss=3%", ",loss=3%", "drop, dup"},
        {"loss=3%,x,dup=2", "x", "drop, dup"},
        {"dir=up", "dir=up", "request"},
        {"drop=1", "drop=1", "no argument; @p=3%"},
        {"loss=1", "loss=1", "0% to 100%"}, /* a user meant 1 % */
        {"dup=1.5", "dup=1.5", "copies"},
        {"dup=17", "dup=17", "1 to 16"},
        {"dup=1..3", "dup=1..3", "1 to 16"},
        {"delay", "delay", "delay=TIME"},
        {"delay=5", "delay=5", "a time"},
        {"delay=5h", "delay=5h", "a time"},
        {"delay=-5us", "delay=-5us", "a time"},
        {"delay=10us..5us", "delay=10us..5us", "a time"},
        {"delay=10us..", "delay=10us..", "a time"},
        {"delay=99999s", "delay=99999s", "one hour"},
        {"reorder=65", "reorder=65", "1 to 64"},
        {"corrupt=trailer", "corrupt=trailer", "payload, header"},
        {"corrupt=icrc+x", "corrupt=icrc+x", "a byte"},
        {"set", "set", "HEADER.FIELD=VALUE"},
        {"set=bth.psn", "set=bth.psn", "HEADER.FIELD=VALUE"},
        {"set=bth=1", "set=bth=1", "HEADER.FIELD=VALUE"},
        {"set=nth.psn=1", "set=nth.psn=1", "headers eth, "},
        {"set=bth.spn=1", "set=bth.spn=1", "a field of bth, which has opcode, "},
        {"set=bth.psn=0x1000000", "set=bth.psn=0x1000000", "fits the field"},
        {"set=bth.psn=", "set=bth.psn=", "fits the field"},
        {"set=eth.dst=02:00:00:00:00", "set=eth.dst=02:00:00:00:00", "an address"},
        {"set=ip4.src=1.2.3", "set=ip4.src=1.2.3", "an address"},
        {"drop@", "", "p=, dir="},
        {"drop@psn", "psn", "p=, dir="},
        {"drop@p=0.1,psn=9..3", "psn=9..3", "a range of PSNs"},
        {"drop@psn=0x1000000", "psn=0x1000000", "a PSN"},
        {"drop@dir=up", "dir=up", "request"},
        {"drop@nth=0", "nth=0", "from 1 on"},
        {"drop@p=1.1", "p=1.1", "a probability"},
        {"drop@p=nan", "p=nan", "a probability"},
        {"drop@icrc=no", "icrc=no", "fix or keep"},
        {"drop@op=", "op=", "opcode"},
        {"drop@where=here", "where=here", "p=, dir="},
    };
    char text[400] = "drop@op=";

    expect_refused(cases, sizeof(cases) / sizeof(cases[0]), IMPAIR_LIVE);
    expect_refused(cases, sizeof(cases) / sizeof(cases[0]), IMPAIR_OFFLINE);
    memset(text + 8, 'x', 300);
    expect_refused(&(struct wrong){text, text + 5, "255"}, 1, IMPAIR_LIVE);
}

static void conditions_of_a_capture_are_refused_live(void)
{
    static const struct wrong cases[] = {
        {"drop@conn=2", "conn=2", "are valid only for rocedrill replay"},
        {"loss=3%,drop@stream=1", "stream=1", "are valid only for rocedrill replay"},
        {"drop@psn=+5", "psn=+5", "an absolute PSN"},
        {"drop@frame=5", "frame=5", "valid only for rocedrill edit"},
    };
    static const struct wrong numbers[] = {
        {"drop@conn=0", "conn=0", "a connection"},
        {"drop@stream=0", "stream=0", "a datagram stream"},
    };

    expect_refused(cases, sizeof(cases) / sizeof(cases[0]), IMPAIR_LIVE);
    expect_refused(numbers, sizeof(numbers) / sizeof(numbers[0]), IMPAIR_OFFLINE);
}

static void sides_of_a_live_device_are_refused_offline(void)
{
    static const struct wrong cases[] = {
        {"drop@dir=in", "dir=in", "are valid only for a live device"},
        {"loss=3%,dir=both", "dir=both", "are valid only for a live device"},
    };

    expect_refused(cases, sizeof(cases) / sizeof(cases[0]), IMPAIR_OFFLINE);
    EXPECT_EQ(read_rules("drop@dir=in,dir=response", IMPAIR_LIVE)->sides, IMPAIR_IN);
    EXPECT_EQ(rules.rule[0].kinds, IMPAIR_RESPONSE);
}

static void more_rules_than_fit_are_refused(void)
{
    char text[IMPAIR_RULES_MAX * 5 + 8] = "";
    struct error error = {""};

    for (unsigned i = 0; i < IMPAIR_RULES_MAX; i++)
        strcat(text, "drop,");
    strcat(text, "ce");
    memset(&rules, 0, sizeof(rules));
    CU_ASSERT(impair_rules_add(&rules, text, IMPAIR_LIVE, &error) != 0);
    CU_ASSERT(strstr(error.text, "at \"ce\": expected the end (at most 32 rules)") != NULL);
    EXPECT_EQ(rules.cnt, 0);
}

SUITE("impair.rule", TEST(long_rules_are_read), TEST(short_forms_are_read),
      TEST(short_and_long_forms_mean_the_same), TEST(a_comma_ends_a_rule_where_an_action_follows),
      TEST(a_wrong_text_is_refused_with_place_and_expectation),
      TEST(conditions_of_a_capture_are_refused_live),
      TEST(sides_of_a_live_device_are_refused_offline), TEST(more_rules_than_fit_are_refused))
