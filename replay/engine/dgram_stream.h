/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Streams: the packets of the services without answers, UC and UD, and the end of them that our
 * RNIC can stand for. Each is played twice: into a QP of ours in place of the receiver, and out of
 * a QP of ours in place of the sender. The directions of a UC connection are independent of each
 * other, and nothing on the wire says which belong together.
 *
 *   receiver, UC   what goes from one host to one QP
 *   receiver, UD   what goes to one QP or multicast group, whoever sends
 *   sender, UC     what goes from one host to one QP: the source QP is not on the wire
 *   sender, UD     what comes from one QP, wherever it goes
 */
#ifndef REPLAY_ENGINE_DGRAM_STREAM_H
#define REPLAY_ENGINE_DGRAM_STREAM_H

#include "engine/rc_compare_responses.h"
#include "engine/field_diff.h"

/* More are skipped: each becomes a QP. */
#define DGRAM_STREAMS_MAX 4096u

enum dgram_role { DGRAM_RECEIVER, DGRAM_SENDER };

struct dgram_stream {
    enum dgram_role role;
    enum roce_svc svc; /* UC or UD */
    enum roce_encap encap;
    uint8_t addr[16]; /* receiver: whom the packets go to; sender: whom they come from */
    uint8_t peer[16]; /* the other end; of UD, in the first packet */
    uint32_t qpn;     /* receiver: the destination QP; sender: UD the source QP, UC the peer's */
    bool multicast;   /* receiver: of a group */
    uint32_t *pkt;    /* indices into trace.pkt, in capture order */
    size_t cnt;
    size_t cap;
    const char *skip; /* why it is not replayed, or NULL */

    /* Derived. */
    uint16_t pkey;
    uint32_t qkey; /* UD */
    uint32_t mtu;  /* UC: path MTU */

    /* Found. */
    enum verdict verdict;
    uint32_t compared;        /* packets */
    uint32_t messages;        /* receiver: completed or whole; sender: posted */
    uint64_t bytes;           /* in these */
    uint32_t dropped;         /* receiver: packets that a conformant receiver drops */
    uint32_t damaged;         /* packets damaged on the wire */
    uint32_t not_captured;    /* sender: packets of ours that the capture lacks */
    uint32_t wire_duplicates; /* sender: packets that the wire shows twice */
    uint32_t not_posted;      /* sender: packets of messages that cannot be made from the capture */
    uint32_t resumed;         /* sender: times that the capture lacks packets between messages */
    uint32_t diff_frames;     /* packets with a difference */
    uint32_t known_frames;    /* ... that the peer's profile explains */
};

struct dgram_streams {
    const struct trace *trace;
    struct dgram_stream *stream;
    size_t cnt;
    size_t cap;
    uint32_t *receiver; /* for each packet of the trace: its stream of that role, or KEYMAP_NONE */
    struct diff *diff;  /* `run` is the index of the stream */
    size_t diff_cnt;
    size_t diff_cap;
};

/* Finds the streams of the roles asked for. 0, or -1 without memory.
 * dgram_streams_free() is wanted in both cases. */
int dgram_streams_find(struct dgram_streams *streams, const struct trace *trace, bool receivers,
                       bool senders);
void dgram_streams_free(struct dgram_streams *streams);

/* Lists the differences of packet `pkt` of the trace. 0, or -1 without memory. */
int dgram_streams_report(struct dgram_streams *streams, uint32_t stream, uint32_t pkt,
                         const struct field_diffs *diffs, const char *reason);

/* The same where `known` is the deviation that explains them, or NULL. */
int dgram_streams_report_known(struct dgram_streams *streams, uint32_t stream, uint32_t pkt,
                               const struct field_diffs *diffs, const char *reason,
                               const struct peer_quirk *known);

/* Sets the verdicts from what was found. */
void dgram_streams_judge(struct dgram_streams *streams);

/* Returns "receiver" or "sender". */
const char *dgram_role_name(enum dgram_role role);

#endif
