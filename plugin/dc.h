/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields and Info column of NVIDIA's dynamically connected transport (wire/dc.h). */
#ifndef PLUGIN_DC_H
#define PLUGIN_DC_H

#include "ws_compat.h"
#include "line.h"
#include "wire/dc.h"

void roce_dc_register(int proto);

/* Writes the text of the Info column to the empty line `text`, for example "DC WRITE Only
 * 0x009036→0x807fff PSN 278780 len 8". Returns the text. */
const char *roce_dc_text(struct line *text, const struct roce_pkt *pkt);

/* Adds the headers after the BTH to the tree, as far as they were captured. `base`: offset of
 * pkt->frame in `tvb`. Returns the offset of the payload in `tvb`. */
int roce_dc_add(const struct roce_pkt *pkt, tvbuff_t *tvb, int base, packet_info *pinfo,
                proto_tree *tree);

#endif
