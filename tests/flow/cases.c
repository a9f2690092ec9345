/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cases.h"

static const struct {
    const struct rule_case *cases;
    const unsigned *cnt;
} tables[] = {
    {cases_format, &cases_format_cnt},
    {cases_request, &cases_request_cnt},
    {cases_response, &cases_response_cnt},
    {cases_other, &cases_other_cnt},
};

const struct rule_case *rule_case_of(enum roce_rule rule)
{
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (unsigned i = 0; i < *tables[t].cnt; i++)
            if (tables[t].cases[i].rule == rule)
                return &tables[t].cases[i];
    return NULL;
}
