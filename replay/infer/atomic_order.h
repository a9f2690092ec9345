/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Order: in which order packets of several connections changed words of memory, as the responses to
 * atomics tell, for each has what the one before left. Sought depth first, in the order of the
 * capture.
 */
#ifndef REPLAY_INFER_ATOMIC_ORDER_H
#define REPLAY_INFER_ATOMIC_ORDER_H

#include "infer/shared_memory.h"

/* What is known of a word: the bytes in `mask`. */
struct atomic_word {
    uint32_t rkey;
    uint64_t va;
    uint64_t bits;
    uint64_t mask;
};

/* A word as it was before a change. */
struct atomic_undo {
    size_t word;
    uint64_t bits;
    uint64_t mask;
};

/* A place in the order that is being tried. */
struct atomic_trial {
    size_t dir;  /* of the order: the one tried here */
    size_t undo; /* changes made before it */
};

struct atomic_order {
    const struct session *session;
    struct atomic_word *word; /* sorted by key and address */
    size_t word_cnt;
    const struct shared_write **write; /* all that change them: of one run together, in order */
    size_t write_cnt;
    size_t dir_cnt;
    size_t *head; /* per run: the next in `op` */
    size_t *end;
    struct atomic_trial *trial; /* one an operation */
    struct atomic_undo *undo;
    size_t undo_cnt;
    size_t undo_cap;
};

/* The order has its words, whose values are unknown, and its operations, in any order; both arrays
 * were allocated and are freed with it. Returns 0, or -1 without memory; atomic_order_free() is to
 * be called in both cases. */
int atomic_order_init(struct atomic_order *order, const struct session *session,
                      struct atomic_word *word, size_t word_cnt, const struct shared_write **op,
                      size_t cnt);
void atomic_order_free(struct atomic_order *order);

/* Returns whether there is an order that fits all responses and all that the capture shows:
 * trial[n].run is then the direction whose next operation comes n-th. Steps spent are added to
 * *effort; at `limit` it is given up. */
bool atomic_order_find(struct atomic_order *order, uint64_t *effort, uint64_t limit);

#endif
