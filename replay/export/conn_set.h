/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Conn set: a set of connection numbers, one bit for each number. events.c uses it for the numbers
 * that its lines contain. */
#ifndef REPLAY_EXPORT_CONN_SET_H
#define REPLAY_EXPORT_CONN_SET_H

#include <stdbool.h>
#include <stdint.h>

struct conn_set {
    uint64_t *word;
    uint32_t words;
    bool failed; /* memory ran out, so at least one number is missing */
};

/* Adds a number. Returns true if it is new in the set. */
bool conn_set_add(struct conn_set *set, uint32_t number);
bool conn_set_has(const struct conn_set *set, uint32_t number);
uint32_t conn_set_end(const struct conn_set *set); /* Returns a number that is greater than all
                                                    * numbers in the set. */
void conn_set_clear(struct conn_set *set);
void conn_set_free(struct conn_set *set);

#endif
