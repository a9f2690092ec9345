/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop of datagram streams (UC and UD): our senders post the messages of all streams at the
 * recorded times, and our receivers get the packets that the link delivers. One link carries all
 * streams.
 *
 * closed_loop.c calls dgram_loop_play() once, dgram_loop_has() for each stream, and
 * dgram_loop_free().
 *
 * Nothing is acknowledged, so the rules alone say what must hold on any link. A sender sends what
 * was recorded and completes it at once (engine/dgram_sender.h). A receiver completes the messages
 * that arrived whole, with their bytes, and nothing else (engine/dgram_receiver.h,
 * engine/dgram_expected.h). After a forged packet a receiver is not judged until a message begins;
 * a datagram with a forged key still is.
 *
 * CM messages are not played here, see cm_loop.h.
 */
#ifndef REPLAY_SIM_DGRAM_LOOP_H
#define REPLAY_SIM_DGRAM_LOOP_H

#include "impair/impair.h"
#include "sim/sim_pcap.h"
#include "engine/dgram_stream.h"

/* Result of all streams in one play. */
struct dgram_loop_result {
    unsigned sides;               /* endpoints that are ours, of enum replay_side */
    struct dgram_streams streams; /* copies of the streams, with the differences of this play */
    uint64_t frames, lost, damaged, forged;
};

/* Plays the streams with our RNIC at the endpoints of `sides`; the recording sends for the
 * others. `streams` is not changed and must outlive the play. Returns 0, or -1 if there is no
 * memory; dgram_loop_free() is needed in both cases. */
int dgram_loop_play(struct dgram_loop_result *play, const struct dgram_streams *streams,
                    unsigned sides, struct impair *impair, struct sim_pcap *pcap);
void dgram_loop_free(struct dgram_loop_result *play);

/* Returns whether the stream is played: its endpoint is ours and it carries no CM messages. */
bool dgram_loop_has(const struct dgram_loop_result *play, uint32_t idx);

#endif
