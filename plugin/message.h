/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Message: puts the packets of a SEND together for an upper protocol. The observer knows the offset
 * of each packet in its message and which ones are repetitions, so that a message is whole exactly
 * when all its packets were captured, in whatever order and however often.
 */
#ifndef ROCE_MESSAGE_H
#define ROCE_MESSAGE_H

#include "ws_compat.h"
#include "track.h"

void roce_message_register(int proto);

/*
 * Adds a packet that was not seen before. Returns the whole message in the frame that completes it
 * (on every pass), NULL in the others, and `payload` itself when it cannot be placed: its first
 * packet was not captured, or the capture is cut inside it.
 */
tvbuff_t *roce_message_add(const struct roce_pkt *pkt, const struct roce_track_frame *frame,
                           tvbuff_t *payload, packet_info *pinfo, proto_tree *tree);

#endif
