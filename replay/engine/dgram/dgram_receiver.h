/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram receiver: replaces the receivers of UC and UD by our RNIC. Each recorded packet is
 * injected unchanged, at its capture time. The completions, the stored bytes and any responses of
 * our RNIC are compared with the expected ones (dgram_expected.h).
 *
 * The capture does not show whether the recorded receiver had a receive WQE, nor how long its
 * buffer was. Our receiver always has a receive WQE that is long enough, so every packet is
 * compared.
 */
#ifndef REPLAY_ENGINE_DGRAM_DGRAM_RECEIVER_H
#define REPLAY_ENGINE_DGRAM_DGRAM_RECEIVER_H

#include "device/rnic.h"
#include "engine/dgram/dgram_stream.h"

/* Opaque state of all receivers. */
struct dgram_receivers;

/* Returns receivers for all streams of role DGRAM_RECEIVER, or NULL if out of memory. The replay
 * stores its results in `streams`. */
struct dgram_receivers *dgram_receivers_new(struct dgram_streams *streams);
void dgram_receivers_del(struct dgram_receivers *receive);

/* Ethernet frame that the receiver of stream `stream` receives instead of packet `pkt` of the
 * trace. */
struct dgram_arrival_in {
    uint32_t stream;
    uint32_t pkt;
    const uint8_t *frame;
    size_t len;
    bool forged; /* true: fault injection altered the frame. Neither this frame nor later packets
                  * are compared, until a packet begins a new message */
};

/* Injects the frame and compares the result. Returns 0, or -1 if out of memory. */
int dgram_receivers_frame(struct dgram_receivers *receive, const struct dgram_arrival_in *in,
                          rnic_time now);

/* Replays and compares all streams of role DGRAM_RECEIVER. Returns 0, or -1 if out of memory. */
int dgram_receivers_play(struct dgram_streams *streams);

#endif
