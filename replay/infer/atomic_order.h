/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Atomic order: finds the order in which requests of several connections changed words of memory.
 * The evidence is the response to each atomic, which has the value of the word before the atomic.
 * The search is depth first: it tries the requests in capture order, and undoes a request that
 * contradicts a response. Different orders of the same requests can lead to the same values of all
 * words. The search remembers these values, and does not continue from the same values twice.
 */
#ifndef REPLAY_INFER_ATOMIC_ORDER_H
#define REPLAY_INFER_ATOMIC_ORDER_H

#include "infer/shared_memory.h"

/* Value of a memory word (8 bytes) during the search. Only the bits in `mask` are known so far. */
struct atomic_word {
    uint32_t rkey;
    uint64_t va;
    uint64_t bits;
    uint64_t mask;
};

/* Value of a word before a change, kept so that the search can undo the change. */
struct atomic_undo {
    size_t word;
    uint64_t bits;
    uint64_t mask;
};

/* One position in the order of the writes that the search has found so far. */
struct atomic_trial {
    size_t dir;  /* direction with the write at this position */
    size_t undo; /* number of entries in atomic_order.undo before this write */
};

struct atomic_order {
    const struct session *session;
    struct atomic_word *word; /* memory words, sorted by R_Key and address */
    size_t word_cnt;
    const struct shared_write *
        *write; /* all writes to the words, grouped by direction, each group in PSN order */
    size_t write_cnt;
    size_t dir_cnt;
    size_t *head; /* for each direction: index in `write` of its next write */
    size_t *end;
    uint32_t *from;  /* for each direction: shared_write.from of its next write, or UINT32_MAX */
    uint32_t *until; /* for each direction: shared_write.until of its next write, or UINT32_MAX */
    struct atomic_trial *trial; /* one element for each write */
    struct atomic_undo *undo;
    size_t undo_cnt;
    size_t undo_cap;
    bool gave_up;       /* the search reached its limit */
    uint64_t state;     /* hash of `head` and of the values of the words */
    uint64_t *dead_end; /* states from which no order continues: hash table that keeps the latest
                         * state of each slot; NULL before the first one */
};

/* Initializes a search for an order of the writes `op` to the words `word`. The initial values of
 * the words are unknown. Takes ownership of both arrays. Returns 0, or -1 if out of memory. Call
 * atomic_order_free() in both cases. */
int atomic_order_init(struct atomic_order *order, const struct session *session,
                      struct atomic_word *word, size_t word_cnt, const struct shared_write **op,
                      size_t cnt);
void atomic_order_free(struct atomic_order *order);

/* Searches for an order of the writes that fits all responses. Returns whether it found one;
 * trial[n].dir is then the direction of write number n in this order. Adds the number of search
 * steps to *effort. Sets order->gave_up and returns false when *effort reaches `limit`. */
bool atomic_order_find(struct atomic_order *order, uint64_t *effort, uint64_t limit);

#endif
