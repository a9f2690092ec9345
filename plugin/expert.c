/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "expert.h"

#include <string.h>

static expert_field ei_defect[ROCE_DEFECT_CNT];
/* A finding can have a lower severity than its rule. Wireshark fixes the severity of an expert info
 * at its registration, so each rule is registered once for each severity, with the same filter
 * name. */
static expert_field ei_rule[ROCE_RULE_CNT][ROCE_SEV_CNT];
static int hf_rule_id = -1;
static int hf_rule_text = -1;
static int hf_rule_source = -1;
static int hf_rule_other = -1;
static int hf_rule_known = -1;
static int ett_rule = -1;

static void fill_expert(ei_register_info *reg, expert_field *id, char *name, int group,
                        int severity, const char *text)
{
    id->ei = id->hf = -1;
    reg->ids = id;
    reg->eiinfo = (expert_field_info){
        .name = name,
        .group = group,
        .severity = severity,
        .summary = text,
        .id = -1,
        .protocol = NULL,
        .orig_severity = 0,
        .hf_info = {0},
    };
}

static unsigned fill_defects(ei_register_info *regs)
{
    static const int severity[] = {
        [ROCE_DEFECT_INFO] = PI_CHAT,
        [ROCE_DEFECT_DROP] = PI_WARN,
        [ROCE_DEFECT_WALK] = PI_ERROR,
    };

    for (unsigned i = 0; i < ROCE_DEFECT_CNT; i++) {
        const struct roce_defect_info *info = roce_defect_info(i);

        fill_expert(&regs[i], &ei_defect[i], g_strdup_printf("roce.defect.%s", info->id),
                    PI_MALFORMED, severity[info->severity], info->text);
    }
    return ROCE_DEFECT_CNT;
}

static unsigned fill_rules(ei_register_info *regs)
{
    static const int severity[ROCE_SEV_CNT] = {
        [ROCE_SEV_NOTE] = PI_NOTE,
        [ROCE_SEV_WARN] = PI_WARN,
        [ROCE_SEV_ERROR] = PI_ERROR,
    };
    unsigned cnt = 0;

    for (unsigned i = 0; i < ROCE_RULE_CNT; i++) {
        const struct roce_rule_info *info = roce_rule_info(i);

        if (info->judge != ROCE_JUDGE_FLOW)
            continue;
        for (unsigned s = 0; s <= info->severity; s++)
            fill_expert(&regs[cnt++], &ei_rule[i][s], g_strdup_printf("roce.rule.%s", info->id),
                        info->severity == ROCE_SEV_NOTE ? PI_SEQUENCE : PI_PROTOCOL, severity[s],
                        g_strdup_printf("%s: %s%s", info->id,
                                        roce_rule_is_norm(info) ? "rule violated: " : "",
                                        info->text));
    }
    return cnt;
}

void roce_expert_register(int proto)
{
    static hf_register_info hf[] = {
        {&hf_rule_id,
         {"Rule", "roce.rule", FT_STRINGZ, BASE_NONE, NULL, 0,
          "Id of the rule of this finding, for example RC-REQ-127", HFILL}},
        {&hf_rule_text,
         {"Rule text", "roce.rule.text", FT_STRINGZ, BASE_NONE, NULL, 0,
          "Requirement of the rule, or the event that a note reports", HFILL}},
        {&hf_rule_source,
         {"Source", "roce.rule.source", FT_STRINGZ, BASE_NONE, NULL, 0,
          "Source of the rule: clause of a specification, or an implementation", HFILL}},
        {&hf_rule_other,
         {"Related frame", "roce.rule.other_frame", FT_FRAMENUM, BASE_NONE, NULL, 0,
          "Earlier frame that this frame contradicts or explains", HFILL}},
        {&hf_rule_known,
         {"Known deviation", "roce.rule.known", FT_STRINGZ, BASE_NONE, NULL, 0,
          "Id of the known deviation that causes this finding; preference roce.peer selects the "
          "peer's implementation",
          HFILL}},
    };
    static int *subtrees[] = {&ett_rule};
    ei_register_info *regs =
        g_new0(ei_register_info, ROCE_DEFECT_CNT + ROCE_RULE_CNT * ROCE_SEV_CNT);
    unsigned cnt = fill_defects(regs);

    cnt += fill_rules(regs + cnt);
    expert_register_field_array(expert_register_protocol(proto), regs, (int)cnt);
    proto_register_field_array(proto, hf, array_length(hf));
    proto_register_subtree_array(subtrees, array_length(subtrees));
}

/* Adds a tree item without expert info, for truncation, padding or a frame check sequence. They are
 * not faults, and every frame may have them. */
static void add_plain_item(int field, tvbuff_t *tvb, proto_tree *tree)
{
    if (proto_field_is_referenced(tree, field))
        proto_item_set_generated(proto_tree_add_item(tree, field, tvb, 0, 0, ENC_NA));
}

void roce_expert_add_defects(const struct roce_pkt *pkt, tvbuff_t *tvb, packet_info *pinfo,
                             proto_tree *tree)
{
    for (unsigned i = 0; i < ROCE_DEFECT_CNT && pkt->defects >> i; i++) {
        if (!roce_pkt_defect(pkt, i))
            continue;
        if (roce_defect_info(i)->severity == ROCE_DEFECT_INFO)
            add_plain_item(ei_defect[i].hf, tvb, tree);
        else
            expert_add_info(pinfo, tree, &ei_defect[i]);
    }
}

static expert_field *finding_expert(const struct roce_finding *f)
{
    return &ei_rule[f->rule][f->known ? ROCE_SEV_NOTE : f->severity];
}

void roce_expert_raise(const struct roce_finding *finding, packet_info *pinfo)
{
    expert_add_info(pinfo, NULL, finding_expert(finding));
}

void roce_expert_add_findings(const struct roce_frame_finding *first, tvbuff_t *tvb,
                              packet_info *pinfo, proto_tree *tree)
{
    for (const struct roce_frame_finding *at = first; at; at = at->next) {
        const struct roce_finding *f = &at->finding;
        const struct roce_rule_info *rule = roce_rule_info(f->rule);
        proto_item *item = proto_tree_add_string(tree, hf_rule_id, tvb, 0, 0, rule->id);
        proto_tree *sub;
        char text[400];

        roce_finding_text(f, text, sizeof(text));
        proto_item_set_generated(item);
        /* The text of the expert info has no values, so that `tshark -z expert` and Wireshark's
         * window count all findings of a rule together. The values are only in the tree item. */
        proto_item_append_text(item, ": %s", text);
        expert_add_info(pinfo, item, finding_expert(f));
        sub = proto_item_add_subtree(item, ett_rule);
        item = proto_tree_add_string(sub, hf_rule_text, tvb, 0, 0, rule->text);
        proto_item_set_generated(item);
        item = proto_tree_add_string(sub, hf_rule_source, tvb, 0, 0, rule->source);
        proto_item_set_generated(item);
        if (f->other_frame) {
            item = proto_tree_add_uint(sub, hf_rule_other, tvb, 0, 0, f->other_frame);
            proto_item_set_generated(item);
        }
        if (f->known) {
            item = proto_tree_add_string(sub, hf_rule_known, tvb, 0, 0, f->known);
            proto_item_append_text(item, ": %s",
                                   roce_deviations[roce_deviation_find(f->known)].text);
            proto_item_set_generated(item);
        }
    }
}
