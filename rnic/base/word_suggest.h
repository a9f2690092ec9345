/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Word suggest: finds the known word that is most similar to a mistyped word, for an error message
 * ("did you mean"). */
#ifndef RNIC_BASE_WORD_SUGGEST_H
#define RNIC_BASE_WORD_SUGGEST_H

#include <stddef.h>

#define WORD_SUGGEST_MAX 24u /* words of this length or more get no suggestion */

/* Compares `word` with `typed`. If their edit distance is below *distance, sets *best to `word` and
 * *distance to the edit distance. */
void word_suggest(const char *typed, const char *word, const char **best, size_t *distance);

#endif
