/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drills of UC and UD: a datagram stream (engine/dgram/dgram_stream.h) becomes a drill with one QP.
 */
#ifndef REPLAY_DRILL_FROM_FROM_DGRAM_H
#define REPLAY_DRILL_FROM_FROM_DGRAM_H

#include "drill/from/from_drill.h"
#include "engine/dgram/dgram_stream.h"

/* Add the lines of a stream. If the device is the receiver, the lines are the packets of the stream
 * and the receives that these packets need. If the device is the sender, the lines are the messages
 * that its program posts. Return 0, or -1 and an error. */
int from_dgram_receiver(struct from_drill *d, const struct dgram_streams *streams, uint32_t stream);
int from_dgram_sender(struct from_drill *d, const struct dgram_streams *streams, uint32_t stream);

#endif
