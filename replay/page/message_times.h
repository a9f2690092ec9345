/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Message times: the completed operations of one stream (page_capture.h), for the graphs of latency
 * and of messages. When a stream reaches its limit, it drops half of its operations: of two
 * neighbouring ones, the faster. Used by page_capture.c.
 */
#ifndef REPLAY_PAGE_MESSAGE_TIMES_H
#define REPLAY_PAGE_MESSAGE_TIMES_H

#include "flow/flow.h"

struct message_time {
    /* Time of the first packet of the request, of the latest transmission of its last packet, and
     * of the completion, ns. */
    uint64_t first, last, done;
    uint64_t bytes;
    uint32_t frame;  /* frame number of the packet that completes the message */
    uint32_t number; /* number of captured messages of the side before this one */
    uint8_t side;    /* side of the requester */
    uint8_t kind;    /* enum roce_kind of the request */
};

struct message_times {
    struct message_time *message; /* array, in the order of completion */
    uint32_t cnt, cap;
    uint64_t left_out; /* number of operations that were dropped and are not drawn */
};

void message_times_free(struct message_times *times);

/* Returns the times of a completed operation, whose time `ns` is known. */
struct message_time message_time_of(const struct roce_flow_done *done);

/* Adds an operation. `max`: limit of the operations of the stream. Returns false if memory is
 * exhausted. */
bool message_times_add(struct message_times *times, const struct message_time *message,
                       uint32_t max);

/* Prefetches the memory to which the next calls will write. */
static inline void message_times_prefetch(const struct message_times *times)
{
    if (times->message)
        __builtin_prefetch(times->message + times->cnt, 1);
}

/* Appends the operations of `other`, as operations of side `side`. Returns false if out of
 * memory. */
bool message_times_join(struct message_times *times, const struct message_times *other,
                        uint8_t side);

#endif
