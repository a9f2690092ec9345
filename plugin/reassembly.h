/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reassembly of SEND messages for the upper-layer dissectors. The analysis provides the offset of a
 * packet in its message, if all earlier packets of the message were captured. The analysis also
 * detects retransmissions, so that each payload is added once. If the capture lacks all
 * transmissions of a packet, the message is never complete.
 */
#ifndef PLUGIN_REASSEMBLY_H
#define PLUGIN_REASSEMBLY_H

#include "ws_compat.h"
#include "analysis_store.h"

void roce_reassembly_register(int proto);

/*
 * Adds the payload of a packet to its message. If the packet completes the message, returns the
 * message, on every pass; otherwise returns NULL. If the snaplen truncated the payload, reassembly
 * is impossible. Then returns `payload` for the first packet of the message, otherwise NULL.
 */
tvbuff_t *roce_reassembly_add(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                              tvbuff_t *payload, packet_info *pinfo, proto_tree *tree);

#endif
