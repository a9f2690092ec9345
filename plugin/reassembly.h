/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Message: puts the packets of a SEND together for an upper protocol. The observer knows the offset
 * of each packet in its message as soon as all before it were captured, and which ones are
 * repetitions: a message is whole once each of its packets was captured, once or more often, after
 * those before it, as its responder needs them.
 */
#ifndef PLUGIN_REASSEMBLY_H
#define PLUGIN_REASSEMBLY_H

#include "ws_compat.h"
#include "analysis_store.h"

void roce_reassembly_register(int proto);

/*
 * Adds a packet. Returns the whole message in the frame that completes it (on every pass), NULL in
 * the others, and in a capture that is cut the `payload` itself of a message's first packet.
 */
tvbuff_t *roce_reassembly_add(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                              tvbuff_t *payload, packet_info *pinfo, proto_tree *tree);

#endif
