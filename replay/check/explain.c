/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/explain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "util/strbuf.h"

#define COLUMNS 96u
#define ID_MAX  32u /* size of the longest rule id, bytes */

static const char *const examples[ROCE_RULE_CNT] = {
#define EXAMPLE(NAME, text) [ROCE_RULE_##NAME] = text,
#include "check/explain_examples.def"
};

static const char *judge_text(enum roce_judge judge)
{
    switch (judge) {
    case ROCE_JUDGE_FLOW: return "rocedrill check judges this rule from captured packets";
    case ROCE_JUDGE_WIRE:
        return "the packet codec implements this rule, and the tests of the codec check it";
    case ROCE_JUDGE_RNIC:
        return "tests of an RNIC judge this rule; packets alone cannot show a violation";
    case ROCE_JUDGE_API:
        return "tests of the verbs API judge this rule; no packet shows a violation";
    default: return "";
    }
}

/* Prints text in indented lines of COLUMNS characters, and keeps its line breaks. */
static void print_wrapped(FILE *out, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n"), line = len;

        if (line > COLUMNS) {
            for (line = COLUMNS; line > 0 && text[line] != ' '; line--)
                ;
            if (line == 0)
                line = COLUMNS;
        }
        fprintf(out, "  %.*s\n", (int)line, text);
        text += line;
        if (*text == ' ' || *text == '\n')
            text++;
    }
}

void explain_list_rules(FILE *out)
{
    for (unsigned i = 0; i < ROCE_RULE_CNT; i++) {
        const struct roce_rule_info *rule = roce_rule_info((enum roce_rule)i);

        fprintf(out, "%-14s %-5s %-4s %-9s %s\n", rule->id, roce_severity_name(rule->severity),
                rule->svc, roce_judge_name(rule->judge), rule->text);
    }
}

/* Returns the rule whose number equals the number at the end of `id`, whatever its prefix: users
 * often confuse the prefixes. Returns ROCE_RULE_CNT if there is none. */
static enum roce_rule find_by_number(const char *id)
{
    const char *dash = strrchr(id, '-'), *number = dash ? dash + 1 : id;
    size_t digits = strspn(number, "0123456789");
    unsigned long wanted = strtoul(number, NULL, 10);

    if (digits == 0 || number[digits] != '\0')
        return ROCE_RULE_CNT;
    for (unsigned i = 0; i < ROCE_RULE_CNT; i++)
        if (strtoul(strrchr(roce_rule_info((enum roce_rule)i)->id, '-') + 1, NULL, 10) == wanted)
            return (enum roce_rule)i;
    return ROCE_RULE_CNT;
}

/* Prints a known deviation, the implementations in which it occurs, and its rules. Returns -1 if
 * `id` is not the id of a deviation. */
static int explain_deviation(FILE *out, const char *id)
{
    static const struct {
        enum roce_profile peer;
        unsigned deviation;
    } rows[] = {
#define QUIRK_FINDING(PEER, ID, RULE, condition) {ROCE_PROFILE_##PEER, ROCE_DEVIATION_##ID},
#define QUIRK_RESPONSE(PEER, ID, predicate)      {ROCE_PROFILE_##PEER, ROCE_DEVIATION_##ID},
#define QUIRK_REQUEST(PEER, ID, predicate)       {ROCE_PROFILE_##PEER, ROCE_DEVIATION_##ID},
#define QUIRK_DELIVERY(PEER, ID, predicate)      {ROCE_PROFILE_##PEER, ROCE_DEVIATION_##ID},
#include "flow/base/known_deviations.def"
    };
    const unsigned found = roce_deviation_find(id);

    if (found == ROCE_DEVIATION_CNT)
        return -1;
    fprintf(out, "%s  known deviation\n\n", id);
    print_wrapped(out, roce_deviations[found].text);
    fprintf(out, "\nimplementations:\n");
    for (int peer = ROCE_PROFILE_NONE + 1; peer < ROCE_PROFILE_CNT; peer++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            if (rows[i].deviation == found && (int)rows[i].peer == peer) {
                fprintf(out, "  %s (%s)\n", roce_profile_name(rows[i].peer),
                        roce_profile_text(rows[i].peer));
                break;
            }
    fprintf(out, "\nviolated rules (--explain RULE): %s\nsource:\n  traces/linux-rxe.md\n",
            roce_deviations[found].rules);
    return 0;
}

int explain_rule(FILE *out, const char *id)
{
    char upper[ID_MAX];
    const struct roce_rule_info *info;
    const char *explain;
    enum roce_rule rule;
    size_t len = strlen(id);

    if (len >= sizeof(upper))
        return -1;
    for (size_t i = 0; i <= len; i++)
        upper[i] = (char)toupper((unsigned char)id[i]);
    if (explain_deviation(out, upper) == 0)
        return 0;
    rule = roce_rule_find(upper);
    if (rule == ROCE_RULE_CNT) {
        rule = find_by_number(upper);
        if (rule == ROCE_RULE_CNT)
            return -1;
        if (strchr(upper, '-')) { /* the user wrote a wrong prefix, so print the right id; a number
                                   * without prefix is not wrong */
            fprintf(out, "There is no ");
            put_escaped(out, upper);
            fprintf(out, "; this number is %s:\n\n", roce_rule_info(rule)->id);
        }
    }
    info = roce_rule_info(rule);
    explain = roce_rule_explain(rule);
    fprintf(out, "%s  %s  %s  %s\n\n", info->id, roce_severity_name(info->severity), info->svc,
            judge_text(info->judge));
    print_wrapped(out, info->text);
    if (explain) {
        fputc('\n', out);
        print_wrapped(out, explain);
    }
    if (explain_example(rule))
        fprintf(out, "\nexample:\n%s", explain_example(rule));
    fprintf(out, "\nsource:\n");
    print_wrapped(out, info->source);
    return 0;
}

const char *explain_example(enum roce_rule rule)
{
    return examples[rule];
}
