/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Explain: prints the table of all rules, or the explanation of one rule. */
#ifndef REPLAY_CHECK_EXPLAIN_H
#define REPLAY_CHECK_EXPLAIN_H

#include <stdio.h>
#include "flow/base/rules.h"

/* Prints one line for each rule: id, severity, service, the check that judges the rule, and its
 * text. */
void explain_list_rules(FILE *out);

/* Prints a rule, its source and an example. The case of `id` does not matter. A number without a
 * prefix is sufficient. After a wrong prefix, the right id is printed first. `id` may also be the
 * id of a known deviation. Returns 0, or -1 if no rule or deviation has this id or number. */
int explain_rule(FILE *out, const char *id);

/* Returns the example of a rule as lines: packets, and the findings about them. Returns NULL for a
 * rule that `rocedrill check` does not judge. The examples are in explain_examples.def;
 * tests/replay/check/test_examples.c generates them. */
const char *explain_example(enum roce_rule rule);

#endif
