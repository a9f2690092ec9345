/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "base/word_suggest.h"

#include <string.h>

/* Returns the edit distance of two words: the number of letters that must be inserted, deleted,
 * replaced, or swapped with their neighbour to get from one word to the other. Returns
 * WORD_SUGGEST_MAX if a word is too long. */
static size_t word_distance(const char *a, const char *b)
{
    size_t row[3][WORD_SUGGEST_MAX + 1], len = strlen(b);
    size_t *before = row[0], *above = row[1], *now = row[2];

    if (strlen(a) >= WORD_SUGGEST_MAX || len >= WORD_SUGGEST_MAX)
        return WORD_SUGGEST_MAX;
    for (size_t k = 0; k <= len; k++)
        above[k] = k;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t *oldest = before;

        now[0] = i;
        for (size_t k = 1; k <= len; k++) {
            now[k] = above[k - 1] + (a[i - 1] != b[k - 1]);
            now[k] = now[k - 1] + 1 < now[k] ? now[k - 1] + 1 : now[k];
            now[k] = above[k] + 1 < now[k] ? above[k] + 1 : now[k];
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
                before[k - 2] + 1 < now[k])
                now[k] = before[k - 2] + 1;
        }
        before = above;
        above = now;
        now = oldest;
    }
    return above[len];
}

void word_suggest(const char *typed, const char *word, const char **best, size_t *distance)
{
    size_t now = word_distance(typed, word);

    if (now < *distance) {
        *distance = now;
        *best = word;
    }
}
