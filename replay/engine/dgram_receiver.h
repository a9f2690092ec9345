/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Receive: our RNIC in place of the receivers of UC and UD. Each recorded packet goes in, byte for
 * byte and at its time; what ours completes, stores and answers is compared with dgram_expected.h.
 *
 * The recorded receiver is not on the wire: whether it had a receive WQE, and of what length, is
 * not known. Ours always has one that is long enough, so every packet is judged.
 */
#ifndef REPLAY_ENGINE_DGRAM_RECEIVER_H
#define REPLAY_ENGINE_DGRAM_RECEIVER_H

#include "device/rnic.h"
#include "engine/dgram_stream.h"

/* All receivers while they are played. */
struct dgram_receivers;

/* In place of the receivers of all streams of that role; what is found goes into the streams. NULL
 * without memory. */
struct dgram_receivers *dgram_receivers_new(struct dgram_streams *streams);
void dgram_receivers_del(struct dgram_receivers *receive);

/* An Ethernet frame that reaches the receiver of stream `stream`, in the place of packet `pkt` of
 * the trace. */
struct dgram_arrival_in {
    uint32_t stream;
    uint32_t pkt;
    const uint8_t *frame;
    size_t len;
    bool forged; /* nobody sent it like this: unless it is a datagram to the same QP, what becomes
                  * of it is not judged, nor what comes after it, up to the next packet that begins
                  * a message */
};

/* Gives it to the receiver and compares. 0, or -1 without memory. */
int dgram_receivers_frame(struct dgram_receivers *receive, const struct dgram_arrival_in *in,
                          rnic_time now);

/* Plays and compares all streams of the receivers' role. 0, or -1 without memory. */
int dgram_receivers_play(struct dgram_streams *streams);

#endif
