/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Atomic order: finds the order in which requests of several connections changed words of memory.
 * Each response to an atomic has the value that the previous change left. The search is depth
 * first, in capture order.
 */
#ifndef REPLAY_INFER_ATOMIC_ORDER_H
#define REPLAY_INFER_ATOMIC_ORDER_H

#include "infer/shared_memory.h"

/* A word of memory. Only the bytes in `mask` are known. */
struct atomic_word {
    uint32_t rkey;
    uint64_t va;
    uint64_t bits;
    uint64_t mask;
};

/* The state of a word before a change, to undo that change. */
struct atomic_undo {
    size_t word;
    uint64_t bits;
    uint64_t mask;
};

/* One place in the order that the search is trying. */
struct atomic_trial {
    size_t dir;  /* direction whose write is tried at this place */
    size_t undo; /* number of changes made before this place */
};

struct atomic_order {
    const struct session *session;
    struct atomic_word *word; /* sorted by key and address */
    size_t word_cnt;
    const struct shared_write *
        *write; /* all writes to these words, grouped by direction, in order */
    size_t write_cnt;
    size_t dir_cnt;
    size_t *head; /* next index in `write`, per direction */
    size_t *end;
    struct atomic_trial *trial; /* one for each write */
    struct atomic_undo *undo;
    size_t undo_cnt;
    size_t undo_cap;
};

/* Initializes a search with words of unknown value and writes in any order. Becomes the owner of
 * both arrays. Returns 0, or -1 if out of memory. Call atomic_order_free() in both cases. */
int atomic_order_init(struct atomic_order *order, const struct session *session,
                      struct atomic_word *word, size_t word_cnt, const struct shared_write **op,
                      size_t cnt);
void atomic_order_free(struct atomic_order *order);

/* Searches an order that fits all responses, and returns whether there is one. Then trial[n].dir is
 * the direction of the n-th write. Adds the steps of the search to *effort, and gives up at
 * `limit`. */
bool atomic_order_find(struct atomic_order *order, uint64_t *effort, uint64_t limit);

#endif
