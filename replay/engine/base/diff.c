/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/base/diff.h"

#include <stdio.h>
#include "util/keymap.h"

const char *diff_text(char text[DIFF_TEXT_MAX], const char *field, const char *recorded,
                      const char *replayed)
{
    snprintf(text, DIFF_TEXT_MAX, "%s: recorded %s, replayed %s", field, recorded, replayed);
    return text;
}

int diff_append(struct diff **list, size_t *cnt, size_t *cap, const struct diff *diff)
{
    struct diff *grown = *list;

    if (!VEC_GROW(grown, *cnt, *cap))
        return -1;
    *list = grown;
    grown[(*cnt)++] = *diff;
    return 0;
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_PASS] = "PASS", [VERDICT_FAIL] = "FAIL", [VERDICT_SKIPPED] = "SKIPPED"};

    return names[verdict];
}
