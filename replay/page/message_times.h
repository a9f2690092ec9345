/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Message times: the completed operations of one stream (page_capture.h), for the graphs of latency
 * and of messages. When a stream reaches its limit, it drops half of its operations: of two
 * neighbouring ones, the faster. Used by page_capture.c.
 */
#ifndef REPLAY_PAGE_MESSAGE_TIMES_H
#define REPLAY_PAGE_MESSAGE_TIMES_H

#include "flow/flow.h"

#define MESSAGE_LAST_PACKETS 64u

struct message_time {
    /* Time of the first packet of the request, of its last packet, and of the completion, ns. */
    uint64_t first, last, done;
    uint64_t bytes;
    uint32_t frame;  /* frame number of the packet that completes the message */
    uint32_t number; /* index among the messages that the side sent; UINT32_MAX if unknown */
    uint8_t side;    /* side of the requester */
    uint8_t kind;    /* enum roce_kind of the request */
};

struct message_times {
    struct message_time *message; /* array, in the order of completion */
    uint32_t cnt, cap;
    uint64_t left_out; /* number of operations that were dropped and are not drawn */
    uint32_t sent_cnt[2], started[2];
    uint64_t open[2]; /* for each side: time of the first packet of the message that the side is
                       * sending, ns */
    /* For each side, the latest messages sent: ring of their first and last packet (times, ns) and
     * index. Used to find message_time.last when a message completes. */
    struct message_sent {
        uint64_t first, last;
        uint32_t number;
    } sent[2][MESSAGE_LAST_PACKETS];
};

void message_times_free(struct message_times *times);

/* Records a packet of a request that `side` sends for the first time. */
void message_times_packet(struct message_times *times, unsigned side, uint64_t time, bool starts,
                          bool ends);

/* Adds a completed operation, whose time `ns` is known. Returns false if memory is exhausted. */
bool message_times_add(struct message_times *times, const struct roce_flow_done *done,
                       uint32_t max);

/* Prefetches the memory to which the next calls will write. */
static inline void message_times_prefetch(const struct message_times *times)
{
    for (unsigned side = 0; side < 2; side++)
        if (times->sent_cnt[side])
            __builtin_prefetch(&times->sent[side][times->sent_cnt[side] % MESSAGE_LAST_PACKETS], 1);
    if (times->message)
        __builtin_prefetch(times->message + times->cnt, 1);
}

/* Appends the operations of `other`, as operations of side `side`. Returns false if out of
 * memory. */
bool message_times_join(struct message_times *times, const struct message_times *other,
                        uint8_t side);

#endif
