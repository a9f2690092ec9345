/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory log: the bytes that the replay stored in the responders' memory (rc_responder.h), because
 * recorded responses show them. These bytes are the initial contents of the memory, and the bytes
 * that the responders' programs stored later. setup_dump.h writes the log to a file.
 */
#ifndef REPLAY_INFER_MEMORY_LOG_H
#define REPLAY_INFER_MEMORY_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include "util/keymap.h"

/* Bytes stored at consecutive addresses. */
struct logged_store {
    uint32_t host; /* responder host: index into session.host */
    uint32_t rkey;
    uint64_t va;
    uint32_t len;
    size_t off;            /* offset in memory_log.byte of the stored bytes */
    bool initial;          /* the stored bytes are part of the initial contents */
    uint32_t before_frame; /* frame number of the packet before which the bytes were stored; 0 if
                            * not known yet */
    uint32_t request;      /* frame number of the request to which a response shows the bytes. It
                            * differs from before_frame if the responder executed the request before
                            * the request was captured */
};

/* All bytes stored during a replay. A zero-initialised log is empty. */
struct memory_log {
    struct logged_store *store; /* in the order in which the bytes were stored */
    size_t cnt, cap;
    uint8_t *byte;
    size_t byte_cnt, byte_cap;
};

/* Adds a stored byte. Returns 0, or -1 if out of memory. */
int memory_log_byte(struct memory_log *log, uint32_t host, uint32_t rkey, uint64_t va, uint8_t byte,
                    bool initial);
/* Assigns the bytes stored since the last call to the request in frame `request`, which the replay
 * executed at frame `at`. If the request was executed before it was captured, `at` differs from
 * `request`. */
void memory_log_frame(struct memory_log *log, uint32_t at, uint32_t request);
/* Call after the replay of one host. Bytes stored since the last memory_log_frame() belong to no
 * request. */
void memory_log_end(struct memory_log *log);
void memory_log_free(struct memory_log *log);

#endif
