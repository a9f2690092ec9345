/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram sender: our RNIC in place of the senders of UC and UD. The messages that the packets
 * show are posted, and each recorded packet is compared with ours. If packets inside a message
 * were not captured, ours has more than the capture. If whole messages may be missing, a new QP
 * continues with the PSN of the next captured message.
 */
#ifndef REPLAY_ENGINE_DGRAM_SENDER_H
#define REPLAY_ENGINE_DGRAM_SENDER_H

#include "device/rnic.h"
#include "engine/dgram_stream.h"

/* Virtual time of the first packet of the trace, ns. */
#define DGRAM_SENDER_TIME_BASE UINT64_C(1000000000)

/* Callback for each frame that a sender of ours sends, in place of packet `at` of stream
 * `stream`, or of an earlier packet of the message that was not captured. Returns 0, or -1
 * without memory. */
struct dgram_sender_sink {
    void *ctx;
    int (*sent)(void *ctx, uint32_t stream, size_t at, const uint8_t *frame, size_t len);
};

/*  */
struct dgram_sender;

/* Returns a sender for a stream, or NULL without memory. `sink` may be NULL. Results are stored
 * in the stream. */
struct dgram_sender *dgram_sender_new(struct dgram_streams *streams, uint32_t stream,
                                      const struct dgram_sender_sink *sink);
void dgram_sender_del(struct dgram_sender *transmit);

/* Returns the time of its next message, as long after DGRAM_SENDER_TIME_BASE as in the capture,
 * or RNIC_NEVER after the last one. */
rnic_time dgram_sender_due(const struct dgram_sender *transmit);

/* Posts the next message and compares the packets. Returns 0, or -1 without memory. */
int dgram_sender_step(struct dgram_sender *transmit);

/* Plays and compares all streams of the senders' role. Returns 0, or -1 without memory. */
int dgram_senders_play(struct dgram_streams *streams);

/* A message that the recorded sender posted. */
struct dgram_sender_message {
    const struct dgram_stream *stream;
    const struct roce_pkt *first, *end; /* first and last captured packet */
    const uint8_t *data;
    uint64_t len;
    uint32_t psn_cnt; /* number of packets */
    uint64_t time;    /* capture time, ns */
};

/* Callback for one packet of the message, with the QPNs and PSNs of the capture. */
typedef void dgram_sender_take_fn(void *user, const struct roce_pkt *pkt);

/* A remote device in place of our RNIC. */
struct dgram_sender_device {
    void *ctx;
    /* Opens a QP that continues with this packet. Returns NULL, or the reason why it cannot. */
    const char *(*open)(void *ctx, struct dgram_stream *stream, const struct roce_pkt *first);
    /* Posts the message, passes its packets to `take` in order, and sets *status to the status
     * of its completion, or to -1 if there was none. Returns NULL, or the reason why it cannot
     * be posted. */
    const char *(*post)(void *ctx, const struct dgram_sender_message *message,
                        dgram_sender_take_fn *take, void *user, int *status);
};

/* Plays and compares all streams of the senders' role on a remote device. */
int dgram_senders_play_with(struct dgram_streams *streams,
                            const struct dgram_sender_device *device);

#endif
