/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rules: requirements on a conformant RoCEv2 implementation, one row each in rules.def. This
 * library judges a rule (ROCE_JUDGE_FLOW), or the row names what does. Ids are never reused or
 * renumbered. The number of an id is that of its row R001 .. in rnic/rules.md; facts that only an
 * observer reports have numbers from 301 on.
 */
#ifndef FLOW_BASE_RULES_H
#define FLOW_BASE_RULES_H

#include <stdbool.h>
#include <stddef.h>

enum roce_severity {
    ROCE_SEV_NOTE,  /* a fact that an operator wants to know: retransmission, duplicate, RNR NAK */
    ROCE_SEV_WARN,  /* legal but suspicious, or a violation that a capture alone cannot prove */
    ROCE_SEV_ERROR, /* violates a requirement */
    ROCE_SEV_CNT
};

enum roce_judge {
    ROCE_JUDGE_FLOW, /* this library, from the packets */
    ROCE_JUDGE_WIRE, /* the codec and its tests */
    ROCE_JUDGE_RNIC, /* tests of an RNIC: depends on its configuration, or on what it does not send
                      */
    ROCE_JUDGE_API,  /* tests of the verbs API: completions, events, return values */
    ROCE_JUDGE_CNT
};

enum roce_rule {
#define RULE(NAME, id, severity, svc, judge, text, source) ROCE_RULE_##NAME,
#include "flow/base/rules.def"
    ROCE_RULE_CNT
};

struct roce_rule_info {
    const char *id;     /* "RC-REQ-127" */
    const char *svc;    /* "all", "RC", "UC", "UD", "XRC", "RD" */
    const char *source; /* where the rule was found */
    const char *text;   /* one line */
    enum roce_severity severity;
    enum roce_judge judge;
};

/* Returns the row of a rule; `rule` must be < ROCE_RULE_CNT. */
const struct roce_rule_info *roce_rule_info(enum roce_rule rule);

/* Returns whether `text` is a requirement, so that a finding is a violation. The text of a note or
 * an observation says what happened. */
bool roce_rule_is_norm(const struct roce_rule_info *rule);

/* Returns a few sentences about a rule that this library judges; NULL for any other. */
const char *roce_rule_explain(enum roce_rule rule);

/* Returns the rule with this id (case matters), or ROCE_RULE_CNT. */
enum roce_rule roce_rule_find(const char *id);

/* Return "ERROR", "WARN", "NOTE"; "flow", "wire", "rnic test", "api test". */
const char *roce_severity_name(enum roce_severity severity);
const char *roce_judge_name(enum roce_judge judge);

/* ---- known deviations of an implementation (known_deviations.def) ------------------------------
 */

enum roce_profile {
    ROCE_PROFILE_NONE,
#define QUIRK_PEER(NAME, name, text) ROCE_PROFILE_##NAME,
#include "flow/base/known_deviations.def"
    ROCE_PROFILE_CNT
};

/* Indexes of roce_deviations. */
enum {
#define QUIRK(ID, rules, text) ROCE_DEVIATION_##ID,
#include "flow/base/known_deviations.def"
};

struct roce_deviation {
    const char *id;    /* "D4" */
    const char *rules; /* ids of the rules that it violates, separated by commas */
    const char *text;
};
extern const struct roce_deviation roce_deviations[];

/* The profile called `name` ("linux-rxe-6.1"), or ROCE_PROFILE_CNT. */
enum roce_profile roce_profile_find(const char *name);
const char *roce_profile_name(enum roce_profile profile);
const char *roce_profile_text(enum roce_profile profile);

#endif
