/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the table of rules: the form of the ids, one row for each row of rnic/rules.md, texts, and
 * profiles. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "flow/flow.h"
#include "support/suite.h"

#define RESEARCH_ROWS 252

static int number_of(const char *id)
{
    const char *dash = strrchr(id, '-');

    return dash ? atoi(dash + 1) : -1;
}

static void ids_are_unique_and_well_formed(void)
{
    for (int i = 0; i < ROCE_RULE_CNT; i++) {
        const char *id = roce_rule_info((enum roce_rule)i)->id;
        size_t len = strlen(id);

        CU_ASSERT(len > 8 && isdigit((unsigned char)id[len - 1]) && id[len - 4] == '-');
        EXPECT_EQ(roce_rule_find(id), i);
    }
    EXPECT_EQ(roce_rule_find("RC-REQ-999"), ROCE_RULE_CNT);
}

static void every_research_row_is_there(void)
{
    bool there[RESEARCH_ROWS + 1] = {false};

    for (int i = 0; i < ROCE_RULE_CNT; i++) {
        const struct roce_rule_info *info = roce_rule_info((enum roce_rule)i);
        int number = number_of(info->id);

        if (number > RESEARCH_ROWS) {
            CU_ASSERT(number > 300);
            continue;
        }
        CU_ASSERT_FATAL(number >= 1);
        there[number] = true;
    }
    for (int i = 1; i <= RESEARCH_ROWS; i++)
        CU_ASSERT(there[i]);
}

static void judged_rules_are_explained(void)
{
    for (int i = 0; i < ROCE_RULE_CNT; i++) {
        const struct roce_rule_info *info = roce_rule_info((enum roce_rule)i);
        const char *explain = roce_rule_explain((enum roce_rule)i);

        CU_ASSERT(info->text[0] != 0 && info->svc[0] != 0 && info->source[0] != 0);
        if (info->judge == ROCE_JUDGE_FLOW) {
            CU_ASSERT_PTR_NOT_NULL_FATAL(explain);
        } else
            CU_ASSERT_PTR_NULL(explain);
    }
}

static void rules_without_a_source_are_no_errors(void)
{
    for (int i = 0; i < ROCE_RULE_CNT; i++) {
        const struct roce_rule_info *info = roce_rule_info((enum roce_rule)i);

        /* "[mem]" marks a clause that the authors did not quote from the specification
         * (rnic/rules.md). A `source` begins with it only if there is no other source */
        if (info->judge == ROCE_JUDGE_FLOW && strncmp(info->source, "[mem]", 5) == 0)
            CU_ASSERT(info->severity != ROCE_SEV_ERROR);
    }
}

static void profiles_have_names(void)
{
    for (int i = 0; i < ROCE_PROFILE_CNT; i++)
        EXPECT_EQ(roce_profile_find(roce_profile_name((enum roce_profile)i)), i);
    EXPECT_EQ(roce_profile_find("linux-rxe-6.1"), ROCE_PROFILE_LINUX_RXE_6_1);
    EXPECT_EQ(roce_profile_find("nobody"), ROCE_PROFILE_CNT);
}

static void finding_text_is_complete(void)
{
    struct roce_finding f = {.rule = ROCE_RULE_MSN,
                             .field = "aeth.msn",
                             .expected = 3,
                             .actual = 2,
                             .other_frame = 12,
                             .known = "D9"};
    char text[200], small[10];

    roce_finding_text(&f, text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "aeth.msn: expected 3, found 2; the MSN counts completed request "
                                 "messages (see frame 12) [known deviation D9]");
    roce_finding_text(&f, small, sizeof(small));
    CU_ASSERT_STRING_EQUAL(small, "aeth.msn:");
}

SUITE("flow.rules", TEST(ids_are_unique_and_well_formed), TEST(every_research_row_is_there),
      TEST(judged_rules_are_explained), TEST(rules_without_a_source_are_no_errors),
      TEST(profiles_have_names), TEST(finding_text_is_complete))
