/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reassembly of SEND messages for the upper-layer dissectors. The analysis knows the offset of a
 * packet in its message if all packets before it were captured, and it detects retransmissions. So
 * a message is complete when each of its packets was captured at least once after the packets
 * before it: the order in which the responder needs them.
 */
#ifndef PLUGIN_REASSEMBLY_H
#define PLUGIN_REASSEMBLY_H

#include "ws_compat.h"
#include "analysis_store.h"

void roce_reassembly_register(int proto);

/*
 * Adds the payload of a packet. Returns the reassembled message in the frame that completes it, on
 * every pass, and NULL in other frames. If packets are truncated, returns `payload` for the first
 * packet.
 */
tvbuff_t *roce_reassembly_add(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                              tvbuff_t *payload, packet_info *pinfo, proto_tree *tree);

#endif
