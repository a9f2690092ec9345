/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop of datagram streams (UC and UD): our senders post the messages of all streams at the
 * recorded times, and our receivers receive the packets that the link delivers. One link carries
 * all streams. CM messages are not played (see cm_loop.h).
 *
 * closed_loop.c calls dgram_loop_play() once, dgram_loop_has() for each stream, and
 * dgram_loop_free().
 *
 * UC and UD have no acknowledgements, so the specification alone determines the results. A sender
 * sends the recorded messages and completes each immediately (engine/dgram/dgram_sender.h). A
 * receiver completes exactly the messages that arrived completely, with their bytes
 * (engine/dgram/dgram_receiver.h, engine/dgram/dgram_expected.h). After a forged packet (a changed
 * field with a corrected ICRC), a receiver is not judged until the next message begins. Exception:
 * a UD datagram with a changed field that still reaches the QP is judged, because the result for a
 * datagram depends on no other packet.
 */
#ifndef REPLAY_SIM_DGRAM_LOOP_H
#define REPLAY_SIM_DGRAM_LOOP_H

#include "engine/dgram/dgram_stream.h"
#include "impair/impair.h"
#include "sim/sim_pcap.h"

/* Result of all datagram streams in one play. */
struct dgram_loop_result {
    unsigned sides;               /* roles that our RNIC plays, bits of enum replay_role */
    struct dgram_streams streams; /* copies of the streams, with the differences of the play */
    uint64_t frames, lost, damaged, forged;
};

/* Plays the streams with our RNIC in the roles of `sides`. If our RNIC is not the sender, the
 * recorded packets are sent. `streams` is not changed and must outlive the play. Returns 0, or -1
 * if out of memory. Call dgram_loop_free() in both cases. */
int dgram_loop_play(struct dgram_loop_result *play, const struct dgram_streams *streams,
                    unsigned sides, struct impair *impair, struct sim_pcap *pcap);
void dgram_loop_free(struct dgram_loop_result *play);

/* Returns whether stream `idx` is played. This is the case if our RNIC plays the role of this
 * stream (sender or receiver), and the stream does not carry CM messages. */
bool dgram_loop_has(const struct dgram_loop_result *play, uint32_t idx);

#endif
