/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Words: tables of the words that the drill language uses for numbers, such as QP states and
 * completion statuses. */
#ifndef REPLAY_DRILL_WORDS_H
#define REPLAY_DRILL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word_number {
    const char *word; /* word of the drill language; NULL ends a table */
    uint64_t number;
};

extern const struct word_number words_access[];   /* for bits of enum rnic_access */
extern const struct word_number words_state[];    /* for enum rnic_qp_state */
extern const struct word_number words_level[];    /* for enum rnic_flush_level */
extern const struct word_number words_status[];   /* for enum rnic_wc_status */
extern const struct word_number words_event[];    /* for enum rnic_event_type */
extern const struct word_number words_error[];    /* for enum rnic_error, with negated numbers */
extern const struct word_number words_nak[];      /* for enum roce_nak */
extern const struct word_number words_cm_event[]; /* for enum rnic_cm_event_type */
extern const char *const words_counter[];         /* names of the counters; NULL ends the list */
extern const char *const words_known[]; /* ids of the deviations of traces/linux-rxe.md; NULL ends
                                         * the list */
extern const char *const words_needs[]; /* capabilities of devices that a script can need;
                                         * NULL ends the list */

/* Returns whether a list that ends with NULL has `word`. */
bool words_has(const char *const *list, const char *word);

/* Returns whether `word` is in words_needs. */
bool words_is_need(const char *word);

/* Returns whether the first `len` characters of `word` are one of the words in `list`, which are
 * separated by blanks. */
bool words_list_has(const char *list, const char *word, size_t len);

/* Returns whether a table has a word for `number`. */
bool words_have(const struct word_number *table, uint64_t number);

/* Returns the first word of a table for `number`, or "unknown". */
const char *words_name(const struct word_number *table, uint64_t number);

#endif
