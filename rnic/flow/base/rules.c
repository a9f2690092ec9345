/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/rules.h"

#include <assert.h>
#include <string.h>

static const struct roce_rule_info rules[ROCE_RULE_CNT] = {
#define RULE(NAME, id, severity, svc, judge, text, source)                                         \
    [ROCE_RULE_##NAME] = {id, svc, source, text, ROCE_SEV_##severity, ROCE_JUDGE_##judge},
#include "flow/base/rules.def"
};

static const char *const explanations[ROCE_RULE_CNT] = {
#define EXPLAIN(NAME, text) [ROCE_RULE_##NAME] = text,
#include "flow/base/explain.def"
};

static const struct {
    const char *name, *text;
} profiles[ROCE_PROFILE_CNT] = {
    [ROCE_PROFILE_NONE] = {"none", "no known deviations"},
#define QUIRK_PEER(NAME, name, text) [ROCE_PROFILE_##NAME] = {name, text},
#include "flow/base/known_deviations.def"
};

const struct roce_deviation roce_deviations[] = {
#define QUIRK(ID, rules, text) {#ID, rules, text},
#include "flow/base/known_deviations.def"
};

bool roce_rule_is_norm(const struct roce_rule_info *rule)
{
    return rule->severity != ROCE_SEV_NOTE && !strstr(rule->id, "-OBS-");
}

const struct roce_rule_info *roce_rule_info(enum roce_rule rule)
{
    assert(rule < ROCE_RULE_CNT);
    return &rules[rule];
}

const char *roce_rule_explain(enum roce_rule rule)
{
    assert(rule < ROCE_RULE_CNT);
    return explanations[rule];
}

enum roce_rule roce_rule_find(const char *id)
{
    for (int i = 0; i < ROCE_RULE_CNT; i++)
        if (strcmp(rules[i].id, id) == 0)
            return (enum roce_rule)i;
    return ROCE_RULE_CNT;
}

unsigned roce_deviation_find(const char *id)
{
    unsigned i = 0;

    while (i < ROCE_DEVIATION_CNT && strcmp(roce_deviations[i].id, id) != 0)
        i++;
    return i;
}

const char *roce_severity_name(enum roce_severity severity)
{
    static const char *const names[ROCE_SEV_CNT] = {"NOTE", "WARN", "ERROR"};

    assert(severity < ROCE_SEV_CNT);
    return names[severity];
}

const char *roce_judge_name(enum roce_judge judge)
{
    static const char *const names[ROCE_JUDGE_CNT] = {"flow", "wire", "rnic test", "api test"};

    assert(judge < ROCE_JUDGE_CNT);
    return names[judge];
}

enum roce_profile roce_profile_find(const char *name)
{
    for (int i = 0; i < ROCE_PROFILE_CNT; i++)
        if (strcmp(profiles[i].name, name) == 0)
            return (enum roce_profile)i;
    return ROCE_PROFILE_CNT;
}

const char *roce_profile_name(enum roce_profile profile)
{
    assert(profile < ROCE_PROFILE_CNT);
    return profiles[profile].name;
}

const char *roce_profile_text(enum roce_profile profile)
{
    assert(profile < ROCE_PROFILE_CNT);
    return profiles[profile].text;
}
