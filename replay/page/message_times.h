/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Message times: the completed operations of one stream (page_capture.h), for the graphs of latency
 * and of messages. When a stream reaches its limit, it drops half of its operations: of each two
 * consecutive operations, the one with the shorter latency. Used by page_capture.c.
 */
#ifndef REPLAY_PAGE_MESSAGE_TIMES_H
#define REPLAY_PAGE_MESSAGE_TIMES_H

#include "flow/flow.h"
#include "page/page_memory.h"

struct message_time {
    /* Time of the first packet of the request, of the latest transmission of its last packet, and
     * of the completion, ns. */
    uint64_t first, last, done;
    uint64_t bytes;
    uint32_t frame;  /* frame number of the packet that completes the message */
    uint32_t number; /* number of earlier captured messages of the same side */
    uint8_t side;    /* side of the requester */
    uint8_t kind;    /* enum roce_kind of the request */
};

struct message_times {
    struct message_time *message; /* array, in the order of completion */
    uint32_t cnt, cap;
    uint64_t left_out; /* number of operations that were dropped and are not drawn */
};

/* Returns whether message_times_make_room() must be called before the next operation. */
static inline bool message_times_are_full(const struct message_times *times)
{
    return times->cnt == times->cap;
}

/* Makes room for an operation, in memory of `memory`. If there are `max` operations, drops the
 * faster one of each two consecutive operations. Returns false if memory is exhausted. */
bool message_times_make_room(struct message_times *times, struct page_memory *memory, uint32_t max);

/* Adds a completed operation. Its latency done->ns must be known, and message_times_make_room()
 * must have made room for it. */
void message_times_add(struct message_times *times, const struct roce_flow_done *done);

/* Appends the operations of `other`, as operations of side `side`. Returns false if out of
 * memory. */
bool message_times_join(struct message_times *times, struct page_memory *memory,
                        const struct message_times *other, uint8_t side);

#endif
