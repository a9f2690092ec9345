/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram streams: the packets of UC and UD, the services without responses. Each stream is
 * replayed twice: our QP replaces the receiver, then the sender. The two directions of a UC
 * connection are separate streams, because no packet shows which directions belong together.
 *
 *   receiver, UC   packets from one host to one QP
 *   receiver, UD   packets from any sender to one QP or multicast group
 *   sender, UC     packets from one host to one QP; UC packets do not contain the source QP
 *   sender, UD     packets from one QP to any receiver
 *
 *   1. dgram_streams_find()                           finds the streams of both roles
 *   2. dgram_receivers_play(), dgram_senders_play()   replay them
 *   3. dgram_streams_judge()                          sets the verdicts
 */
#ifndef REPLAY_ENGINE_DGRAM_STREAM_H
#define REPLAY_ENGINE_DGRAM_STREAM_H

#include "engine/rc_compare_responses.h"
#include "engine/field_diff.h"

/* Maximum number of streams, because each becomes a QP. Further ones are skipped. */
#define DGRAM_STREAMS_MAX 4096u

enum dgram_role { DGRAM_RECEIVER, DGRAM_SENDER };

struct dgram_stream {
    enum dgram_role role;
    enum roce_svc svc; /* UC or UD */
    enum roce_encap encap;
    uint8_t addr[16]; /* receiver role: destination address; sender role: source address */
    uint8_t peer[16]; /* address of the other end; for UD, the one in the first packet */
    uint32_t qpn;   /* receiver role: destination QP; sender role: source QP for UD, destination QP
                     * for UC */
    bool multicast; /* the destination is a multicast group (receiver role only) */
    uint32_t *pkt;  /* indices into trace.pkt, in capture order */
    size_t cnt;
    size_t cap;
    const char *skip; /* reason why the stream is not replayed, or NULL */

    /* Inferred from the packets. */
    uint16_t pkey;
    uint32_t qkey; /* Q_Key, UD only */
    uint32_t mtu;  /* path MTU in bytes, UC only */

    /* Results of the replay. */
    enum verdict verdict;
    uint32_t compared;        /* packets compared */
    uint32_t messages;        /* receiver role: complete messages; sender role: posted messages */
    uint64_t bytes;           /* payload bytes of these messages */
    uint32_t dropped;         /* receiver role: packets that a conformant receiver drops */
    uint32_t damaged;         /* packets damaged on the wire */
    uint32_t not_captured;    /* sender role: packets that our RNIC sent but the capture lacks */
    uint32_t wire_duplicates; /* sender role: packets that the network duplicated */
    uint32_t not_posted;      /* sender role: packets of messages that cannot be posted */
    uint32_t resumed;         /* sender role: gaps in the capture between messages */
    uint32_t diff_frames;     /* packets with a difference */
    uint32_t known_frames;    /* packets whose difference is a known quirk of the peer */
};

struct dgram_streams {
    const struct trace *trace;
    struct dgram_stream *stream;
    size_t cnt;
    size_t cap;
    uint32_t *receiver; /* index of the receiver's stream for each packet of the trace, or
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

/* Adds differences that the quirk `known` explains. NULL means that no quirk explains them. Returns
 * 0, or -1 if out of memory. */
int dgram_streams_report_known(struct dgram_streams *streams, uint32_t stream, uint32_t pkt,
                               const struct field_diffs *diffs, const char *reason,
                               const struct peer_quirk *known);

/* Sets the verdict of each stream from its results. */
void dgram_streams_judge(struct dgram_streams *streams);

/* Returns "receiver" or "sender". */
const char *dgram_role_name(enum dgram_role role);

#endif
