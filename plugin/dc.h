/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DC: what is shown of packets of NVIDIA's dynamically connected transport (wire/dc.h).
 */
#ifndef PLUGIN_DC_H
#define PLUGIN_DC_H

#include "ws_compat.h"
#include "line.h"
#include "wire/dc.h"

void roce_dc_register(int proto);

/* "DC WRITE Only 0x009036→0x807fff PSN 278780 len 8", written to `text`, which starts empty. */
const char *roce_dc_text(struct line *text, const struct roce_pkt *pkt);

/* Adds what follows the BTH, as far as the tvb has it; pkt->frame starts at `base` of it. Returns
 * the offset of the payload in the tvb. */
int roce_dc_add(const struct roce_pkt *pkt, tvbuff_t *tvb, int base, packet_info *pinfo,
                proto_tree *tree);

#endif
