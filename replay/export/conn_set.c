/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/conn_set.h"

#include <stdlib.h>
#include <string.h>

static bool grow_set(struct conn_set *set, uint32_t words)
{
    uint32_t cap = set->words ? set->words * 2 : 64;
    uint64_t *grown;

    while (cap < words)
        cap *= 2;
    grown = realloc(set->word, cap * sizeof(*grown));
    if (!grown)
        return false;
    memset(grown + set->words, 0, (cap - set->words) * sizeof(*grown));
    set->word = grown;
    set->words = cap;
    return true;
}

bool conn_set_add(struct conn_set *set, uint32_t number)
{
    uint64_t bit = UINT64_C(1) << number % 64;

    if (number / 64 >= set->words && !grow_set(set, number / 64 + 1)) {
        set->failed = true;
        return false;
    }
    if (set->word[number / 64] & bit)
        return false;
    set->word[number / 64] |= bit;
    return true;
}

bool conn_set_has(const struct conn_set *set, uint32_t number)
{
    return number / 64 < set->words && (set->word[number / 64] >> number % 64 & 1) != 0;
}

uint32_t conn_set_end(const struct conn_set *set)
{
    return set->words * 64;
}

void conn_set_clear(struct conn_set *set)
{
    if (set->words)
        memset(set->word, 0, set->words * sizeof(*set->word));
}

void conn_set_free(struct conn_set *set)
{
    free(set->word);
    *set = (struct conn_set){0};
}
