/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rules: what a conformant RoCEv2 implementation does, one row each in rules.def. A rule is judged
 * by this library (ROCE_JUDGE_FLOW) or listed with who judges it instead. An id is never reused or
 * renumbered: its number is the number of the research row (R001 ..) it states, or 301 and up for
 * facts that only an observer states.
 */
#ifndef FLOW_BASE_RULES_H
#define FLOW_BASE_RULES_H

#include <stdbool.h>
#include <stddef.h>

enum roce_severity {
    ROCE_SEV_NOTE,  /* a fact an operator wants: retransmission, duplicate, RNR */
    ROCE_SEV_WARN,  /* legal but suspicious, or a violation that a capture alone cannot prove */
    ROCE_SEV_ERROR, /* violates a requirement */
    ROCE_SEV_CNT
};

enum roce_judge {
    ROCE_JUDGE_FLOW, /* this library, from the packets */
    ROCE_JUDGE_WIRE, /* the codec and its tests */
    ROCE_JUDGE_RNIC, /* tests of an RNIC: needs its configuration or its silence */
    ROCE_JUDGE_API,  /* tests of the verbs API: completions, events, results of calls */
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
    const char *source; /* research row and where the rule was found */
    const char *text;   /* one line */
    enum roce_severity severity;
    enum roce_judge judge;
};

/* The row of a rule; `rule` must be < ROCE_RULE_CNT. */
const struct roce_rule_info *roce_rule_info(enum roce_rule rule);

/* Whether `text` says what ought to be, so that a finding is a breach of it; that of a note or an
 * observation says what happened. */
bool roce_rule_is_norm(const struct roce_rule_info *rule);

/* A few sentences for a rule judged here; NULL for any other. */
const char *roce_rule_explain(enum roce_rule rule);

/* The rule with this id (case matters), or ROCE_RULE_CNT. */
enum roce_rule roce_rule_find(const char *id);

/* "ERROR", "WARN", "NOTE"; "flow", "wire", "rnic test", "api test". */
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
