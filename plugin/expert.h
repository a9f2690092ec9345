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
 * are not faults: they become plain items of the same name, and only if a filter refers to them.
 * They may be in every frame, and an expert info takes microseconds. */
void roce_expert_add_defects(const struct roce_pkt *pkt, tvbuff_t *tvb, packet_info *pinfo,
                             proto_tree *tree);

/* Adds an expert info for each finding of the list `first`, with a link to its related frame. */
void roce_expert_add_findings(const struct roce_frame_finding *first, tvbuff_t *tvb,
                              packet_info *pinfo, proto_tree *tree);

/* Reports the finding without a tree, for the highest severity in Wireshark's status bar. */
void roce_expert_raise(const struct roce_finding *finding, packet_info *pinfo);

#endif
