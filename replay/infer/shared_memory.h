/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sharing: what several connections do to the same memory of a responder. The capture shows the
 * order of one connection's requests; of two connections' it shows only that what was answered was
 * executed before what was requested later. In between, the responder is free.
 *
 * Atomics tell the order themselves: each response has what the one before left. For each word that
 * several connections change, an order is searched for that fits all responses and all that the
 * capture shows; requests are then played in it. Where there is none, the order of the capture
 * stands, and the comparison says what is wrong. A READ of bytes that others wrote may have brought
 * any byte that an allowed order puts there.
 */
#ifndef REPLAY_INFER_SHARED_MEMORY_H
#define REPLAY_INFER_SHARED_MEMORY_H

#include "infer/session.h"

/* A packet that changes memory. */
struct shared_write {
    uint32_t dir;
    uint32_t req; /* of the direction's setup */
    uint32_t rkey;
    uint32_t len;
    uint64_t va;
    uint32_t from;       /* index into trace.pkt: it was not executed before this was captured */
    uint32_t until;      /* ... and was when this was, a response; UINT32_MAX: nothing shows it */
    const uint8_t *data; /* NULL: an atomic, or the capture lacks the bytes */
    bool known;          /* of an atomic: what it found, and so what it left, was recorded */
    uint64_t found;      /* in the host's order, and so is `left` */
    uint64_t left;
};

/* The n-th place in the order of a word. */
struct atomic_turn {
    uint32_t dir;
    uint32_t req;
    uint32_t word;
    uint32_t place;
};

struct shared_memory {
    const struct session *session;
    struct shared_write *write; /* sorted by key, address, run, request packet */
    size_t write_cnt;
    size_t write_cap;
    struct atomic_turn *turn; /* sorted by run, request packet, word */
    size_t turn_cnt;
    size_t turn_cap;
    uint32_t *next; /* per word: places taken */
    size_t word_cnt;
    size_t next_cap;
    uint64_t effort; /* events spent; there is a limit */
};

/* A READ whose response is explained. */
struct shared_read {
    struct shared_memory *sharing;
    uint32_t dir;
    uint32_t req;
    uint32_t rkey;
    uint32_t from;  /* packet with the request */
    uint32_t until; /* packet with the response */
};

/* What the directions of a device share; nothing if it has but one. Returns 0, or -1 without
 * memory. shared_memory_free() is to be called in both cases. */
int shared_memory_find(struct shared_memory *sharing, const struct session *session, uint32_t host);
void shared_memory_free(struct shared_memory *sharing);

/* Returns whether the order requests requests of other directions to be executed first. */
bool shared_memory_waits(const struct shared_memory *sharing, uint32_t dir, uint32_t entry);

/* Returns whether there is an order of the words that a request changes. */
bool shared_memory_has_order(const struct shared_memory *sharing, uint32_t dir, uint32_t entry);

/* Our RNIC executed a request. */
void shared_memory_executed(struct shared_memory *sharing, uint32_t dir, uint32_t entry);

/* Returns whether an allowed order has `value` at `va` when the READ is executed; `blank`: the
 * value before all writes is unknown. `read` is a struct shared_read. */
bool shared_memory_explains(void *read, uint64_t va, uint8_t value, bool blank);

#endif
