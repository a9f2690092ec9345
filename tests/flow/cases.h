/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Cases: one conversation for each rule that rnic/flow judges. With `wrong`, the conversation
 * violates the rule, and rnic/flow must report the rule. If the rule has the severity NOTE, the
 * conversation contains the event that the rule describes. Without `wrong`, the same conversation
 * does not violate the rule, and rnic/flow must not report it.
 */
#ifndef TEST_FLOW_CASES_H
#define TEST_FLOW_CASES_H

#include "flow/flow.h"
#include "support/flowgen.h"

struct rule_case {
    enum roce_rule rule;
    void (*build)(struct flowgen *g, bool wrong);
};

#define CASE(NAME) static void case_##NAME(struct flowgen *g, bool wrong)
#define ROW(NAME)                                                                                  \
    {                                                                                              \
        ROCE_RULE_##NAME, case_##NAME                                                              \
    }

extern const struct rule_case cases_format[], cases_request[], cases_response[], cases_other[];
extern const unsigned cases_format_cnt, cases_request_cnt, cases_response_cnt, cases_other_cnt;

/* Returns the case of a rule, or NULL. */
const struct rule_case *rule_case_of(enum roce_rule rule);

#define ACK_31  (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define NAK_SEQ (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ)
#define NAK_INV (ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ)
#define NAK_ACC (ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS)
/* RNR NAK syndrome with timer code 14: a wait of 1.28 ms */
#define RNR_1MS (ROCE_SYNDROME_RNR | 14)

#endif
