/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RoCE dissector. Wireshark calls the two routines below through plugin.c, and then for each
 * file:
 *
 *   1. on_file_opened(): applies the preferences (prefs.h) and registers the dissectors in
 *      Wireshark's tables (handoff.h)
 *   2. for each frame, packet-roce.c: parses the packet with rnic/wire and, on the first pass,
 *      feeds it to the analysis (analysis_store.h)
 *   3. adds the header fields (hf.h, aeth.h, cm.h, dc.h), the analysis (analysis.h) and the expert
 *      infos (expert.h) to the tree, and sets the Info column (info_column.h)
 *   4. queues the packet for the taps: conversations.h, export_object.h, tap-roce.h, srt.h
 *   5. passes the payload to the upper-layer dissector (ulp.h, reassembly.h)
 *
 * Objects that live as long as the file are in wmem file scope; the tables of the taps are on the
 * heap. If a packet cannot be parsed, the dissector rejects it by returning 0, and Wireshark shows
 * it as data. Other defects become expert infos.
 */
#ifndef PACKET_ROCE_H
#define PACKET_ROCE_H

#include "ws_compat.h"

void proto_register_roce(void);
void proto_reg_handoff_roce(void);

#endif
