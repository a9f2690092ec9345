/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The rule table for people: all of it, or one rule explained. */
#ifndef REPLAY_CHECK_EXPLAIN_H
#define REPLAY_CHECK_EXPLAIN_H

#include <stdio.h>
#include "flow/base/rules.h"

/* One line a rule: id, severity, service, who judges it, what it says. */
void explain_list_rules(FILE *out);

/* The rule, its source and an example. Case does not matter; the number alone will do, and with
 * another prefix the right id is said first. -1 if no rule has this id or number. */
int explain_rule(FILE *out, const char *id);

/* The example of a rule that is judged here, in lines: packets, and what was found in them; NULL
 * for any other. It is kept in check_examples.def; tests/replay/check/test_examples.c says how it
 * is made. */
const char *explain_example(enum roce_rule rule);

#endif
