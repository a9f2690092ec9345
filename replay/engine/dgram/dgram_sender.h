/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram sender: replaces the senders of UC and UD by our RNIC. Posts to our RNIC the messages
 * that the recorded packets show. Compares each recorded packet with the packet that our RNIC
 * sends.
 *
 * If the capture lacks packets inside a message, our RNIC sends more packets than the capture has.
 * If the capture may lack whole messages, a new QP begins at the PSN of the next captured message.
 */
#ifndef REPLAY_ENGINE_DGRAM_DGRAM_SENDER_H
#define REPLAY_ENGINE_DGRAM_DGRAM_SENDER_H

#include "device/rnic.h"
#include "engine/dgram/dgram_stream.h"

/* Virtual time of the first packet of the trace, in ns. */
#define DGRAM_SENDER_TIME_BASE UINT64_C(1000000000)

/* Callback for each frame that our sender sends. `at` is the index in stream.pkt of the recorded
 * packet that the frame replaces. If the capture lacks this packet, `at` is the index of an earlier
 * packet of the message. Returns 0, or -1 if out of memory. */
struct dgram_sender_sink {
    void *ctx;
    int (*sent)(void *ctx, uint32_t stream, size_t at, const uint8_t *frame, size_t len);
};

/* Opaque state of the sender of one stream. */
struct dgram_sender;

/* Returns a sender for a stream, or NULL if out of memory. `sink` may be NULL. The replay stores
 * its results in the stream. */
struct dgram_sender *dgram_sender_new(struct dgram_streams *streams, uint32_t stream,
                                      const struct dgram_sender_sink *sink);
void dgram_sender_del(struct dgram_sender *transmit);

/* Returns the virtual time at which the sender posts its next message, or RNIC_NEVER after the
 * last one. Virtual time is DGRAM_SENDER_TIME_BASE at the start of the capture. */
rnic_time dgram_sender_due(const struct dgram_sender *transmit);

/* Posts the next message and compares its packets. Returns 0, or -1 if out of memory. */
int dgram_sender_step(struct dgram_sender *transmit);

/* Returns whether the sender currently has an RNIC. dgram_sender_step() creates one if there is
 * none. */
bool dgram_sender_has_device(const struct dgram_sender *transmit);

/* Frees the sender's RNIC, which needs 60 KB. Call it between two messages. The QP of the next RNIC
 * begins at the PSN of the next message. */
void dgram_sender_close_device(struct dgram_sender *transmit);

/* Replays and compares all streams of role DGRAM_SENDER. Returns 0, or -1 if out of memory. */
int dgram_senders_play(struct dgram_streams *streams);

/* Message that the recorded sender posted, as the captured packets show it. */
struct dgram_sender_message {
    const struct dgram_stream *stream;
    const struct roce_pkt *first, *end; /* first and last captured packet of the message */
    const uint8_t *data;
    uint64_t len;
    uint32_t psn_cnt; /* number of packets */
    uint64_t time;    /* capture time of the first packet, ns */
};

/* Callback for one packet of the message. *pkt has the QPNs and PSNs of the capture. */
typedef void dgram_sender_take_fn(void *user, const struct roce_pkt *pkt);

/* Callbacks of a remote device that sends the messages in place of our RNIC. */
struct dgram_sender_device {
    void *ctx;
    /* Opens a QP that sends *first as its next packet. Returns NULL, or the reason why the QP
     * cannot be opened. */
    const char *(*open)(void *ctx, struct dgram_stream *stream, const struct roce_pkt *first);
    /* Posts the message and passes its packets to `take` in order. Sets *status to the status of
     * the completion, or to -1 if there is none. Returns NULL, or the reason why the message
     * cannot be posted. */
    const char *(*post)(void *ctx, const struct dgram_sender_message *message,
                        dgram_sender_take_fn *take, void *user, int *status);
};

/* Replays and compares all streams of role DGRAM_SENDER on a remote device. Returns 0, or -1 if out
 * of memory. */
int dgram_senders_play_with(struct dgram_streams *streams,
                            const struct dgram_sender_device *device);

#endif
