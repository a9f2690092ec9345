/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expert infos: one for each defect of the codec (roce.defect.<id>) and one for each rule that the
 * observer judges (roce.rule.<rule id>).
 */
#ifndef ROCE_EXPERT_H
#define ROCE_EXPERT_H

#include "ws_compat.h"
#include "analysis_store.h"

void roce_expert_register(int proto);

/* Adds an expert info for each defect of the packet to `tree`, the packet's own; but of what is no
 * fault (a cut capture, padding, a frame check sequence) an item of the same name, where somebody
 * reads it: such a capture has that in every frame, and an expert info takes microseconds. */
void roce_expert_add_defects(const struct roce_pkt *pkt, tvbuff_t *tvb, packet_info *pinfo,
                             proto_tree *tree);

/* Adds an expert info for each finding to `tree`, with the frame it speaks of as a link. */
void roce_expert_add_findings(const struct roce_frame_finding *first, tvbuff_t *tvb,
                              packet_info *pinfo, proto_tree *tree);

/* Says that there is such a finding in the file, without a tree: Wireshark shows the highest
 * severity of all below its list. */
void roce_expert_raise(const struct roce_finding *finding, packet_info *pinfo);

#endif
