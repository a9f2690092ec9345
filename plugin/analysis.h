/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds the fields roce.analysis.* and roce.message.*, which show the analysis results from
 * analysis_store.h. */
#ifndef ROCE_ANALYSIS_H
#define ROCE_ANALYSIS_H

#include "ws_compat.h"
#include "analysis_store.h"

void roce_analysis_register(int proto);

/* Adds stream index and source QP to `tree`, and the subtree "RDMA analysis" with the findings. */
void roce_analysis_add(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                       tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree);

#endif
