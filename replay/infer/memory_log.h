/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Stores: the bytes that rc_responder.h puts into the responders' memory because recorded responses
 * show them: what was there from the beginning, and what the responders' programs stored later,
 * before which request. For setup_dump_json.h.
 */
#ifndef REPLAY_INFER_MEMORY_LOG_H
#define REPLAY_INFER_MEMORY_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include "util/keymap.h"

/* Bytes at addresses next to each other. */
struct logged_store {
    uint32_t host; /* index into session.dir */
    uint32_t rkey;
    uint64_t va;
    uint32_t len;
    size_t off;            /* of the bytes in stores.byte */
    bool initial;          /* they were there before anything was played */
    uint32_t before_frame; /* frame before which they were stored, 0 while that is not known */
    uint32_t request;      /* frame of the request that shows them; another one only where it was
                              captured later than it was executed */
};

/* All zero is empty. */
struct memory_log {
    struct logged_store *store; /* in the order in which they were made */
    size_t cnt, cap;
    uint8_t *byte;
    size_t byte_cnt, byte_cap;
};

/* A byte is stored; Returns 0, or -1 without memory. */
int memory_log_byte(struct memory_log *log, uint32_t host, uint32_t rkey, uint64_t va, uint8_t byte,
                    bool initial);
/* What was stored since the last call was stored for this request, played at frame `at`. */
void memory_log_frame(struct memory_log *log, uint32_t at, uint32_t request);
/* No request of that device follows: what was stored since the last one is seen by none. */
void memory_log_end(struct memory_log *log);
void memory_log_free(struct memory_log *log);

#endif
