/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cases.h"

#include <stdlib.h>
#include "judge.h"
#include "support/suite.h"

static void check(const struct rule_case *c, bool wrong)
{
    struct flowgen g;
    static struct verdict v;
    const struct roce_finding *f = NULL;
    char text[300];

    flowgen_begin(&g);
    c->build(&g, wrong);
    judge_end(&g, &v);
    if (judge_found(&v, c->rule) != wrong)
        suite_fail(__FILE__, __LINE__, "%s is %sfound", roce_rule_info(c->rule)->id,
                   wrong ? "not " : "");
    else
        CU_PASS("as it should");
    if (!wrong && judge_errors(&v, roce_rule_info(c->rule)->id))
        suite_fail(__FILE__, __LINE__,
                   "%s: the conversation without the violation has ERROR findings",
                   roce_rule_info(c->rule)->id);
    if (!wrong)
        return;
    for (uint32_t i = 0; i < v.finding_cnt && !f; i++)
        if (v.finding[i].rule == c->rule)
            f = &v.finding[i];
    if (!f)
        return;
    EXPECT_EQ(f->severity, roce_rule_info(c->rule)->severity);
    CU_ASSERT(f->field[0] != 0);
    CU_ASSERT(roce_finding_text(f, text, sizeof(text))[0] != 0);
    if (f->value != ROCE_VALUE_NONE && f->relation == ROCE_REL_EQ && f->expected == f->actual)
        suite_fail(__FILE__, __LINE__, "%s: expected is actual", roce_rule_info(c->rule)->id);
}

static void every_judged_rule_has_a_case(void)
{
    for (int i = 0; i < ROCE_RULE_CNT; i++) {
        enum roce_rule rule = (enum roce_rule)i;

        if (roce_rule_info(rule)->judge == ROCE_JUDGE_FLOW && !rule_case_of(rule))
            suite_fail(__FILE__, __LINE__, "no case for %s (%s)", roce_rule_info(rule)->id,
                       roce_rule_info(rule)->text);
        if (roce_rule_info(rule)->judge != ROCE_JUDGE_FLOW && rule_case_of(rule))
            suite_fail(__FILE__, __LINE__, "%s is judged elsewhere", roce_rule_info(rule)->id);
    }
    CU_PASS("looked at all");
}

static void violation_is_reported(void)
{
    for (int i = 0; i < ROCE_RULE_CNT; i++)
        if (rule_case_of((enum roce_rule)i))
            check(rule_case_of((enum roce_rule)i), true);
}

static void conforming_traffic_reports_nothing(void)
{
    for (int i = 0; i < ROCE_RULE_CNT; i++)
        if (rule_case_of((enum roce_rule)i))
            check(rule_case_of((enum roce_rule)i), false);
}

SUITE("flow.cases", TEST(every_judged_rule_has_a_case), TEST(violation_is_reported),
      TEST(conforming_traffic_reports_nothing))
