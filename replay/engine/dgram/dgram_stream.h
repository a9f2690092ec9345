/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram streams: the packets of UC and UD, the services without responses. Each packet is in two
 * streams: in one, our QP replaces the receiver; in the other, the sender. The two directions of a
 * UC connection are separate streams, because no packet shows which directions belong together.
 *
 * - receiver, UC: packets from one host to one QP
 * - receiver, UD: packets from any sender to one QP or multicast group
 * - sender, UC: packets from one host to one QP; UC packets do not contain the source QP
 * - sender, UD: packets from one QP to any receiver
 *
 * engine/replay.c calls, in this order:
 *
 *   1. dgram_streams_find()   finds the streams of both roles
 *   2. dgram_receivers_play() replays the receivers                           dgram_receiver.h
 *        dgram_host.h           creates one RNIC for each receiver address
 *        dgram_expected.h       computes what a conformant receiver delivers
 *   3. dgram_senders_play()   replays the senders                             dgram_sender.h
 *        dgram_message.h        infers the messages that the sender posted
 *   4. dgram_streams_judge()  sets the verdicts
 *
 * struct dgram_streams owns the streams and their differences. The only error is that memory runs
 * out. A stream that cannot be replayed has the reason in its member `skip`.
 */
#ifndef REPLAY_ENGINE_DGRAM_DGRAM_STREAM_H
#define REPLAY_ENGINE_DGRAM_DGRAM_STREAM_H

#include "engine/base/field_diff.h"

/* Maximum number of streams that are replayed. Each stream needs a QP. */
#define DGRAM_STREAMS_MAX 4096u

enum dgram_role { DGRAM_RECEIVER, DGRAM_SENDER };

struct dgram_stream {
    enum dgram_role role;
    enum roce_svc svc; /* UC or UD */
    enum roce_encap encap;
    uint8_t addr[16]; /* receiver role: destination address; sender role: source address */
    uint8_t peer[16]; /* address of the peer; UD: of the peer in the first packet */
    uint32_t qpn;   /* receiver role: destination QP; sender role: source QP for UD, destination QP
                     * for UC */
    bool multicast; /* the destination is a multicast group (receiver role only) */
    uint32_t *pkt;  /* indices into trace.pkt, in capture order */
    size_t cnt;
    size_t cap;
    const char *skip; /* reason why the stream is not replayed, or NULL */

    /* Attributes inferred from the packets. */
    uint16_t pkey;
    uint32_t qkey;       /* Q_Key, UD only */
    uint32_t mtu;        /* path MTU in bytes, UC only */
    uint64_t absent_max; /* sender role: limit of the packets that our RNIC sends although the
                          * capture lacks them */

    /* Results of the replay. */
    enum verdict verdict;
    uint32_t compared;        /* number of packets compared */
    uint32_t messages;        /* receiver role: number of complete messages; sender role: number
                               * of posted messages */
    uint64_t bytes;           /* payload bytes of the messages counted in `messages` */
    uint32_t dropped;         /* receiver role: number of packets that a conformant receiver
                               * drops silently */
    uint32_t damaged;         /* number of packets damaged on the wire */
    uint32_t not_captured;    /* sender role: number of packets of our RNIC that the capture
                               * lacks */
    uint32_t wire_duplicates; /* sender role: number of packets that the network duplicated */
    uint32_t not_posted;      /* sender role: number of packets of messages that our RNIC cannot
                               * post */
    uint32_t resumed;         /* sender role: number of gaps in the captured PSNs between two
                               * messages */
    uint32_t diff_frames;     /* number of packets with a difference */
    uint32_t known_frames; /* number of packets with a difference that is a known deviation of the
                              peer */
};

struct dgram_streams {
    const struct trace *trace;
    struct dgram_stream *stream;
    size_t cnt;
    size_t cap;
    uint32_t *receiver; /* for each packet of the trace: index of the stream of its receiver, or
                         * KEYMAP_NONE */
    struct diff *diff;  /* differences; diff.dir is the index of the stream */
    size_t diff_cnt;
    size_t diff_cap;
};

/* Finds the streams of the given roles. Returns 0, or -1 if out of memory. Call
 * dgram_streams_free() in both cases. */
int dgram_streams_find(struct dgram_streams *streams, const struct trace *trace, bool receivers,
                       bool senders);
void dgram_streams_free(struct dgram_streams *streams);

/* Adds the differences of packet `pkt` of the trace. Returns 0, or -1 if out of memory. */
int dgram_streams_report(struct dgram_streams *streams, uint32_t stream, uint32_t pkt,
                         const struct field_diffs *diffs, const char *reason);

/* Adds differences of packet `pkt`. `known` is the quirk of the peer that explains the
 * differences, or NULL. Returns 0, or -1 if out of memory. */
int dgram_streams_report_known(struct dgram_streams *streams, uint32_t stream, uint32_t pkt,
                               const struct field_diffs *diffs, const char *reason,
                               const struct peer_quirk *known);

/* Sets the verdict of each stream from the number of its differences. */
void dgram_streams_judge(struct dgram_streams *streams);

/* Returns "receiver" or "sender", for messages. */
const char *dgram_role_name(enum dgram_role role);

#endif
