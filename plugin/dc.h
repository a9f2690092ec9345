/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields and Info column of NVIDIA's dynamically connected transport (wire/dc.h). */
#ifndef PLUGIN_DC_H
#define PLUGIN_DC_H

#include "ws_compat.h"
#include "line.h"
#include "wire/dc.h"

void roce_dc_register(int proto);

/* Writes "DC WRITE Only 0x009036→0x807fff PSN 278780 len 8" to the empty line `text` and returns
 * it. */
const char *roce_dc_text(struct line *text, const struct roce_pkt *pkt);

/* Adds the captured headers after the BTH. pkt->frame is at offset `base` of the tvb. Returns the
 * offset of the payload in the tvb. */
int roce_dc_add(const struct roce_pkt *pkt, tvbuff_t *tvb, int base, packet_info *pinfo,
                proto_tree *tree);

#endif
