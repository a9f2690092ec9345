/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rules: requirements on a conformant RoCEv2 implementation, one row each in rules.def. Each row
 * names its judge: this library (ROCE_JUDGE_FLOW) or a test. The id of a rule is never reused or
 * renumbered. Ids up to 300 have the number of a row in rnic/rules.md. Ids from 301 on are events
 * that only this library reports, for example a retransmission.
 */
#ifndef FLOW_BASE_RULES_H
#define FLOW_BASE_RULES_H

#include <stdbool.h>
#include <stddef.h>

enum roce_severity {
    ROCE_SEV_NOTE, /* event that an operator wants to see: retransmission, duplicate, RNR NAK */
    ROCE_SEV_WARN, /* legal but suspicious packet, or a violation that packets alone cannot prove */
    ROCE_SEV_ERROR, /* violation of a requirement */
    ROCE_SEV_CNT
};

enum roce_judge {
    ROCE_JUDGE_FLOW, /* judged by this library, from the packets */
    ROCE_JUDGE_WIRE, /* judged by the packet codec and its tests */
    ROCE_JUDGE_RNIC, /* judged by tests of an RNIC, because the rule depends on the RNIC's
                      * configuration, or demands that the RNIC sends nothing */
    ROCE_JUDGE_API,  /* judged by tests of the verbs API: completions, events, return values */
    ROCE_JUDGE_CNT
};

enum roce_rule {
#define RULE(NAME, id, severity, svc, judge, text, source) ROCE_RULE_##NAME,
#include "flow/base/rules.def"
    ROCE_RULE_CNT
};

struct roce_rule_info {
    const char *id;     /* rule id, for example "RC-REQ-127" */
    const char *svc;    /* transport service: "all", "RC", "UC", "UD", "XRC" or "RD" */
    const char *source; /* specification clause or other source of the rule */
    const char *text;   /* text of the rule, one line */
    enum roce_severity severity;
    enum roce_judge judge;
};

/* Returns the row of a rule; `rule` must be < ROCE_RULE_CNT. */
const struct roce_rule_info *roce_rule_info(enum roce_rule rule);

/* Returns whether `rule` is a requirement, so that a finding about it is a violation. Returns false
 * if `rule` describes an event. */
bool roce_rule_is_norm(const struct roce_rule_info *rule);

/* Returns an explanation of `rule` in a few sentences, or NULL if this library does not judge the
 * rule. */
const char *roce_rule_explain(enum roce_rule rule);

/* Returns the rule with this id, or ROCE_RULE_CNT if there is none. The comparison is
 * case-sensitive. */
enum roce_rule roce_rule_find(const char *id);

/* Return names for reports. Severities: "ERROR", "WARN" or "NOTE". Judges: "flow", "wire", "rnic
 * test" or "api test". */
const char *roce_severity_name(enum roce_severity severity);
const char *roce_judge_name(enum roce_judge judge);

/* ---- known deviations of an implementation (known_deviations.def) ---------------------------- */

enum roce_profile {
    ROCE_PROFILE_NONE,
#define QUIRK_PEER(NAME, name, text) ROCE_PROFILE_##NAME,
#include "flow/base/known_deviations.def"
    ROCE_PROFILE_CNT,
    ROCE_PROFILE_AUTO /* recognise the implementation from its packets (flow/base/peer.h) */
};

/* Indexes of the array roce_deviations. */
enum {
#define QUIRK(ID, rules, text) ROCE_DEVIATION_##ID,
#include "flow/base/known_deviations.def"
    ROCE_DEVIATION_CNT
};

struct roce_deviation {
    const char *id;    /* id of the deviation, for example "D4" */
    const char *rules; /* ids of the rules that the deviation violates, separated by commas */
    const char *text;
};
extern const struct roce_deviation roce_deviations[];

/* Returns the index of the known deviation with this id, for example "D41", or ROCE_DEVIATION_CNT.
 */
unsigned roce_deviation_find(const char *id);

/* Returns the profile with this name, for example "linux-rxe-6.1", or ROCE_PROFILE_CNT. */
enum roce_profile roce_profile_find(const char *name);
const char *roce_profile_name(enum roce_profile profile);
const char *roce_profile_text(enum roce_profile profile);

#endif
