/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop of UC and UD: senders of ours post the messages of all streams of a capture, at their
 * times, receivers of ours get what the link of closed.h leaves of the packets, one link for all.
 *
 * Nothing is acknowledged, so the rules say what must hold whatever the link does: a sender sends
 * what was recorded and completes it at once (transmit.h), a receiver makes of each packet what the
 * packets that reached it before say (receive.h, delivery.h): which message is whole, with which
 * bytes, and that the rest leaves no trace. After a packet that nobody sent, a receiver is not
 * judged until a message begins; but of a datagram whose keys were forged the rules say what
 * becomes of it.
 *
 * Messages of the connection manager are not played here: closed_cm.h.
 */
#ifndef REPLAY_SIM_DGRAM_LOOP_H
#define REPLAY_SIM_DGRAM_LOOP_H

#include "impair/impair.h"
#include "sim/sim_pcap.h"
#include "engine/dgram_stream.h"

/* All streams, played once. */
struct dgram_loop_result {
    unsigned sides;               /* ours, of enum replay_side */
    struct dgram_streams streams; /* with what was found in this play */
    uint64_t frames, lost, damaged, forged;
};

/* Plays them with our RNIC at the ends of `sides`, of enum replay_side; where it is not the sender,
 * the recording is. What was derived stays as it is, and must outlive the play. 0, or -1 without
 * memory; dgram_loop_free() is wanted in both cases. */
int dgram_loop_play(struct dgram_loop_result *play, const struct dgram_streams *streams,
                    unsigned sides, struct impair *impair, struct sim_pcap *pcap);
void dgram_loop_free(struct dgram_loop_result *play);

/* Whether the stream was to be played: its end is ours, and it is not the connection manager's. */
bool dgram_loop_has(const struct dgram_loop_result *play, uint32_t idx);

#endif
