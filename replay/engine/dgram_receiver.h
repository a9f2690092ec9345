/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram receiver: our RNIC in place of the receivers of UC and UD. Each recorded packet is
 * injected unchanged at its time. The completions, stored bytes and responses of our RNIC are
 * compared with dgram_expected.h.
 *
 * The capture does not show whether the recorded receiver had a receive WQE, or how long it was.
 * Our receiver always has one that is long enough, so every packet is compared.
 */
#ifndef REPLAY_ENGINE_DGRAM_RECEIVER_H
#define REPLAY_ENGINE_DGRAM_RECEIVER_H

#include "device/rnic.h"
#include "engine/dgram_stream.h"

/* All receivers during the replay. */
struct dgram_receivers;

/* Returns receivers for all streams of that role, or NULL without memory. Results are stored in
 * the streams. */
struct dgram_receivers *dgram_receivers_new(struct dgram_streams *streams);
void dgram_receivers_del(struct dgram_receivers *receive);

/* An Ethernet frame for the receiver of stream `stream`, in place of packet `pkt` of the trace. */
struct dgram_arrival_in {
    uint32_t stream;
    uint32_t pkt;
    const uint8_t *frame;
    size_t len;
    bool forged; /* altered on the way: the result is not compared, nor that of the packets up to
                    the next one that begins a message; a datagram to the same QP is compared */
};

/* Injects the frame and compares the result. Returns 0, or -1 without memory. */
int dgram_receivers_frame(struct dgram_receivers *receive, const struct dgram_arrival_in *in,
                          rnic_time now);

/* Plays and compares all streams of the receivers' role. Returns 0, or -1 without memory. */
int dgram_receivers_play(struct dgram_streams *streams);

#endif
