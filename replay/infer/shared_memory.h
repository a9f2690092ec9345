/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sharing: how several connections access the same memory of a responder. The capture shows the
 * order of the requests of one connection. For requests of two connections, the capture shows the
 * order in one case only: the response to one request was captured before the other request. In all
 * other cases, the responder may have executed the two requests in any order.
 *
 * The responses to atomics reveal their order, because each response has the value that the
 * previous change of the word left. For each word that several connections change, we search for an
 * order that fits all responses and the rest of the capture. We play the requests in that order. If
 * no order fits, we play in capture order, and the comparison reports the contradiction. A READ of
 * bytes that other connections wrote may return any byte that an allowed order produces.
 */
#ifndef REPLAY_INFER_SHARED_MEMORY_H
#define REPLAY_INFER_SHARED_MEMORY_H

#include "infer/session.h"

/* A request packet that changes memory. */
struct shared_write {
    uint32_t dir;
    uint32_t req; /* index into the `req` array of the direction's setup */
    uint32_t rkey;
    uint32_t len;
    uint64_t va;
    uint32_t from;       /* index into trace.pkt of the request; the responder executed the request
                          * after this packet */
    uint32_t until;      /* index into trace.pkt of the response that proves the execution;
                          * UINT32_MAX if there is none */
    const uint8_t *data; /* bytes written; NULL for an atomic, or if the capture lacks the bytes */
    bool known;          /* atomic: its response was captured, so `found` and `left` are valid */
    uint64_t found;      /* atomic: value of the word before the atomic, in host byte order */
    uint64_t left;
};

/* Position of one request in the order of the writes to one word. */
struct atomic_turn {
    uint32_t dir;
    uint32_t req;
    uint32_t word;
    uint32_t place;
};

struct shared_memory {
    const struct session *session;
    bool single;                /* the host has only one direction */
    struct shared_write *write; /* all writes, sorted by R_Key, address, direction and request
                                 * packet */
    size_t write_cnt;
    size_t write_cap;
    struct atomic_turn *turn; /* order of the writes, sorted by direction, request packet and
                               * word */
    size_t turn_cnt;
    size_t turn_cap;
    uint32_t *next; /* for each word: number of its writes executed so far */
    size_t word_cnt;
    size_t next_cap;
    size_t *place0; /* for each word: index in `gone` of the first place in its order */
    size_t place0_cap;
    bool *gone; /* for each word and place: the write is never executed */
    size_t gone_cap;
    bool gave_up;    /* a search reached its limit, so an order may exist that was not found */
    uint64_t effort; /* search steps used so far; the search gives up at a limit */
};

/* READ with a response that must be explained: by an allowed order of the writes. */
struct shared_read {
    struct shared_memory *sharing;
    uint32_t dir;
    uint32_t req;
    uint32_t event; /* index into setup.event of the request */
    uint32_t rkey;
    uint32_t from;  /* index into trace.pkt of the request */
    uint32_t until; /* index into trace.pkt of the response */
};

/* Sets *found and *left to the value of the word before and after an atomic, as its captured
 * response shows. Returns false if the capture has no response to request packet `e`. */
bool shared_memory_atomic(const struct inferred_setup *s, const struct request_pkt *e,
                          uint64_t *found, uint64_t *left);

/* Finds the memory that several directions of a host share, and the order of the atomics on it. For
 * a host with one direction, finds only the writes, and only if one of them may overtake a READ.
 * Returns 0, or -1 if out of memory. Call shared_memory_free() in both cases. */
int shared_memory_find(struct shared_memory *sharing, const struct session *session, uint32_t host);
void shared_memory_free(struct shared_memory *sharing);

/* Returns whether other directions have requests that must be executed before request packet
 * `entry` of direction `dir`. */
bool shared_memory_waits(const struct shared_memory *sharing, uint32_t dir, uint32_t entry);

/* Returns whether an order was found for the words that this request changes. */
bool shared_memory_has_order(const struct shared_memory *sharing, uint32_t dir, uint32_t entry);

/* Records that our RNIC executed a request. */
void shared_memory_executed(struct shared_memory *sharing, uint32_t dir, uint32_t entry);

/* Records that our RNIC executes no further request of direction `dir`, because its QP is used
 * again. */
void shared_memory_ended(struct shared_memory *sharing, uint32_t dir);

/* Returns whether an allowed order of the writes results in `value` at `va` when the READ is
 * executed. If no write must precede the READ, any value is possible. `read` points to a struct
 * shared_read. */
bool shared_memory_explains(void *read, uint64_t va, uint8_t value);

/* `written` is the latest value stored at `va` by a request; the READ shows another value. Returns
 * 1 if other READs of the connection suggest that the responder's program changed the byte before
 * the READ. The next READ suggests it if it does not show `written`. If there is no next READ, the
 * previous one suggests it if it shows `written`: the requester then probably polls for a change.
 * Returns -1 if the next READ, or another response to this READ, shows `written`. Returns 0
 * otherwise, or if another connection writes the byte. `read` points to a struct shared_read. */
int shared_memory_suggests_store(void *read, uint64_t va, uint8_t written);

#endif
