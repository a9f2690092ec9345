/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expert infos: roce.defect.ID for each defect that the codec detects, and roce.rule.ID for each
 * rule that rnic/flow checks.
 */
#ifndef ROCE_EXPERT_H
#define ROCE_EXPERT_H

#include "ws_compat.h"
#include "analysis_store.h"

void roce_expert_register(int proto);

/* Adds an expert info for each defect of the packet. Truncation, padding and a frame check sequence
 * are not faults, but every frame may have them, and an expert info takes microseconds. So for
 * these three, adds a plain item with the same name instead, and only if a filter refers to the
 * item. */
void roce_expert_add_defects(const struct roce_pkt *pkt, tvbuff_t *tvb, packet_info *pinfo,
                             proto_tree *tree);

/* Adds an expert info for each finding in the list that begins with `first`. Each expert info has a
 * link to the other frame of its finding. */
void roce_expert_add_findings(const struct roce_frame_finding *first, tvbuff_t *tvb,
                              packet_info *pinfo, proto_tree *tree);

/* Reports a finding to Wireshark when no tree is built, so that the status bar shows the highest
 * severity. */
void roce_expert_raise(const struct roce_finding *finding, packet_info *pinfo);

#endif
