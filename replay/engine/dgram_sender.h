/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Transmit: our RNIC in place of the senders of UC and UD. The messages that the packets show are
 * posted, and each recorded packet is compared with ours. A packet lost before the capture point
 * is one of ours that the capture lacks; where whole messages may be missing, a new QP goes on with
 * the PSN of the next one seen.
 */
#ifndef REPLAY_ENGINE_DGRAM_SENDER_H
#define REPLAY_ENGINE_DGRAM_SENDER_H

#include "device/rnic.h"
#include "engine/dgram_stream.h"

/* When the first packet of the trace is sent. */
#define DGRAM_SENDER_TIME_BASE UINT64_C(1000000000)

/* Gets each frame that a sender of ours sends: one of stream `stream`, in the place of its packet
 * `at` or, if the capture lacks that, of one before it in the message. -1: no memory. */
struct dgram_sender_sink {
    void *ctx;
    int (*sent)(void *ctx, uint32_t stream, size_t at, const uint8_t *frame, size_t len);
};

/* One sender. */
struct dgram_sender;

/* In place of the sender of a stream; `sink` may be NULL. What is found goes into the stream. NULL
 * without memory. */
struct dgram_sender *dgram_sender_new(struct dgram_streams *streams, uint32_t stream,
                                      const struct dgram_sender_sink *sink);
void dgram_sender_del(struct dgram_sender *transmit);

/* When its next message is posted: as long after DGRAM_SENDER_TIME_BASE as the capture shows.
 * RNIC_NEVER after the last one. */
rnic_time dgram_sender_due(const struct dgram_sender *transmit);

/* Posts that message, and compares what is sent. 0, or -1 without memory. */
int dgram_sender_step(struct dgram_sender *transmit);

/* Plays and compares all streams of the senders' role. 0, or -1 without memory. */
int dgram_senders_play(struct dgram_streams *streams);

/* A message that the recorded sender posted. */
struct dgram_sender_message {
    const struct dgram_stream *stream;
    const struct roce_pkt *first, *end; /* its first and last packet that the capture has */
    const uint8_t *data;
    uint64_t len;
    uint32_t psn_cnt; /* packets it has */
    uint64_t time;    /* of the capture */
};

/* A packet that the message became, with the capture's numbers. */
typedef void dgram_sender_take_fn(void *user, const struct roce_pkt *pkt);

/* A device elsewhere in the place of our RNICs. */
struct dgram_sender_device {
    void *ctx;
    /* A QP of the stream whose next packet is this one. NULL, or why there is none. */
    const char *(*open)(void *ctx, struct dgram_stream *stream, const struct roce_pkt *first);
    /* Posts the message, hands over its packets in their order and sets *status to that of its
     * completion, negative if none came. NULL, or why it cannot be posted. */
    const char *(*post)(void *ctx, const struct dgram_sender_message *message,
                        dgram_sender_take_fn *take, void *user, int *status);
};

/* dgram_senders_play() with that. */
int dgram_senders_play_with(struct dgram_streams *streams,
                            const struct dgram_sender_device *device);

#endif
