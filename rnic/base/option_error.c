/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "base/option_error.h"

#include <stdio.h>
#include <string.h>
#include "base/word_suggest.h"

/* Writes the text for `word`, a long option that is unknown or ambiguous. */
static bool unknown_option(char *text, size_t size, const char *word, const struct option *longs)
{
    size_t len = strcspn(word, "=") - 2, distance = 3;
    char name[WORD_SUGGEST_MAX];
    const char *best = NULL;
    bool ambiguous = false;

    snprintf(name, sizeof(name), "%.*s", (int)len, word + 2);
    for (; longs->name; longs++) {
        ambiguous |= strncmp(longs->name, word + 2, len) == 0;
        word_suggest(name, longs->name, &best, &distance);
    }
    if (ambiguous)
        snprintf(text, size, "option '%s' is ambiguous", word);
    else if (best)
        snprintf(text, size, "unrecognized option '%s'; did you mean '--%s'?", word, best);
    else
        snprintf(text, size, "unrecognized option '%s'", word);
    return ambiguous || !best;
}

/* Returns whether the table `longs` contains an option with the value `val`. */
static bool has_value(const struct option *longs, int val)
{
    while (longs->name && longs->val != val)
        longs++;
    return longs->name != NULL;
}

bool option_error(char *text, size_t size, int c, char *const *argv, const struct option *longs)
{
    /* The argument with the wrong option. Exception: if more letters follow a wrong letter, such as
     * Z in -Zv, `word` is the previous argument; the error message then contains only the
     * letter. */
    const char *word = argv[optind - 1];

    if (optopt == 0)
        return unknown_option(text, size, word, longs);
    if (c == ':' && strncmp(word, "--", 2) == 0)
        snprintf(text, size, "option '%s' requires an argument", word);
    else if (c == ':')
        snprintf(text, size, "option requires an argument -- '%c'", optopt);
    else if (has_value(longs, optopt))
        snprintf(text, size, "option '%.*s' doesn't allow an argument", (int)strcspn(word, "="),
                 word);
    else {
        snprintf(text, size, "invalid option -- '%c'", optopt);
        return true;
    }
    return false;
}
